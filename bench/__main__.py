"""`python -m bench`: run every benchmark, print a table, write `bench/results.json`; exit 1 if a bound is missed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from bench import decide, declaration, ledger, over_http, passthrough, store
from bench.measure import Row

RESULTS = Path(__file__).parent / "results.json"
ROOMS: tuple[Callable[[], Iterable[Row]], ...] = (
    decide.rows,
    declaration.rows,
    ledger.rows,
    store.rows,
    passthrough.rows,
    over_http.rows,
)


def main() -> int:
    RESULTS.unlink(missing_ok=True)
    results: list[Row] = []
    print(f"{'':<32} {'ratio':>8} {'bound':>8} {'control':>8}")
    for room in ROOMS:
        for row in room():
            results.append(row)
            verdict = "ok" if row["ok"] else "MISSED"
            print(f"{row['name']:<32} {row['ratio']:>8} {row['bound']:>8} {row['control']:>8}  {verdict}", flush=True)
    RESULTS.write_text(json.dumps({"results": results}, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row["ok"] for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
