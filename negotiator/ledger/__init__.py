"""The ledger's mathematics: what an entry is, how entries chain, and how a chain is verified.

Pure functions over bytes and values. Who writes entries, when, and where they are kept is `store/`.
"""

from negotiator.ledger.chain import ChainHead, ChainReport, PlacedEntry, genesis, verify_chain
from negotiator.ledger.entry import (
    ENTRY_VERSION,
    MAX_ENTRY_BYTES,
    RESERVED_MEMBERS,
    ZERO_HASH,
    entry_line,
    leaf_hash,
    line_hash,
)

__all__ = [
    "ENTRY_VERSION",
    "MAX_ENTRY_BYTES",
    "RESERVED_MEMBERS",
    "ZERO_HASH",
    "ChainHead",
    "ChainReport",
    "PlacedEntry",
    "entry_line",
    "genesis",
    "leaf_hash",
    "line_hash",
    "verify_chain",
]
