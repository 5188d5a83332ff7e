"""The adapters below the services: SQL tables, the writer, key files, the machine's clock and policy folders.

`open_store` gives what implements `ports.Store`; `FileKeys` is a `ports.KeyFolder`, and
`PepperVerifiers.open` gives `ports.Verifiers`.
SQL exists only in this package.
"""

from negotiator.store.attestations import JwsAttestations
from negotiator.store.copies import Copied, back_up, restore
from negotiator.store.disk import FolderDisk
from negotiator.store.engine import database_directory, database_file, database_place
from negotiator.store.environment import FileSwitch, PolicyFolder, RandomIds, SystemClock
from negotiator.store.key_folder import FileKeys
from negotiator.store.keyfiles import key_file_faults
from negotiator.store.keys import PepperVerifiers
from negotiator.store.operator_token import OperatorToken
from negotiator.store.password_hashes import Argon2Hashes
from negotiator.store.schema import migrate
from negotiator.store.sealing import AesSealer
from negotiator.store.sql_store import SqlStore, open_store
from negotiator.store.status import StoreStatus, status_of

__all__ = [
    "AesSealer",
    "Argon2Hashes",
    "Copied",
    "FileKeys",
    "FileSwitch",
    "FolderDisk",
    "JwsAttestations",
    "OperatorToken",
    "PepperVerifiers",
    "PolicyFolder",
    "RandomIds",
    "SqlStore",
    "StoreStatus",
    "SystemClock",
    "back_up",
    "database_directory",
    "database_file",
    "database_place",
    "key_file_faults",
    "migrate",
    "open_store",
    "restore",
    "status_of",
]
