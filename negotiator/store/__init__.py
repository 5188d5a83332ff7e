"""The adapters below the services: SQL tables, the writer, key files, the machine's clock and policy folders.

`open_store` gives what implements `ports.Store`; `FileSigner.open` and `PepperVerifiers.open` give `ports.Signer` and
`ports.Verifiers`.
SQL exists only in this package.
"""

from negotiator.store.engine import database_directory, database_file
from negotiator.store.environment import PolicyFolder, RandomIds, SystemClock
from negotiator.store.keys import FileSigner, PepperVerifiers
from negotiator.store.schema import migrate
from negotiator.store.sql_store import SqlStore, open_store

__all__ = [
    "FileSigner",
    "PepperVerifiers",
    "PolicyFolder",
    "RandomIds",
    "SqlStore",
    "SystemClock",
    "database_directory",
    "database_file",
    "migrate",
    "open_store",
]
