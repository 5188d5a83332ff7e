"""The command `negotiator`: parsing and printing only; what is done stands in `services/` and `assembly.py`.

Exit status: 0 fine; 1 the thing checked is bad; 2 wrong usage; 3 could not be done. Errors are one line on standard
error, `negotiator: <code>: <message>`; `--json` prints one JSON document on standard output.
"""

from negotiator.cli.program import main

__all__ = ["main"]
