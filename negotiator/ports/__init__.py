"""What services need from the outside, as Protocols. Adapters are `store/` and `assembly.py`.

Rules:

- Every change of state is a unit `def unit(tx: Tx) -> T`, handed to `Store.transact`. A unit is a function of its
  `tx` only: it may run again, keeps no state outside, awaits nothing, does no file or network work and no Cedar, and
  raises `ClaimFailed` before its first write where it can.
- A claim is one conditional statement; `False` means that the claimed fact does not hold.
- The entry of a unit commits with the state that it explains.
- Every port is bound to one project; there is no unscoped read.
"""

from negotiator.ports.aggregates import (
    AgentReads,
    AgentWrites,
    ApprovalReads,
    ApprovalWrites,
    ConsentReads,
    ConsentWrites,
    EvidenceReads,
    EvidenceWrites,
    IdempotencyReads,
    IdempotencyWrites,
    IntentReads,
    IntentWrites,
    KeyReads,
    KeyWrites,
    LedgerReads,
    NegotiationReads,
    NegotiationWrites,
    ProposalReads,
    ProposalWrites,
    SiteCredentialReads,
    SiteCredentialWrites,
    StateWrites,
    TaskReads,
    TaskWrites,
)
from negotiator.ports.environment import (
    Attestations,
    Clock,
    Disk,
    Ids,
    KeyFolder,
    PolicySource,
    Signer,
    Switch,
    Verifiers,
)
from negotiator.ports.meter import Meter, Unmetered
from negotiator.ports.people import (
    HumanAuthenticator,
    PasswordHashes,
    PeopleReads,
    PeopleWrites,
    Sealer,
    SlowWork,
)
from negotiator.ports.transactions import Chore, Lane, Reader, Store, Tx

__all__ = [
    "AgentReads",
    "AgentWrites",
    "ApprovalReads",
    "ApprovalWrites",
    "Attestations",
    "Chore",
    "Clock",
    "ConsentReads",
    "ConsentWrites",
    "Disk",
    "EvidenceReads",
    "EvidenceWrites",
    "HumanAuthenticator",
    "IdempotencyReads",
    "IdempotencyWrites",
    "Ids",
    "IntentReads",
    "IntentWrites",
    "KeyFolder",
    "KeyReads",
    "KeyWrites",
    "Lane",
    "LedgerReads",
    "Meter",
    "NegotiationReads",
    "NegotiationWrites",
    "PasswordHashes",
    "PeopleReads",
    "PeopleWrites",
    "PolicySource",
    "ProposalReads",
    "ProposalWrites",
    "Reader",
    "Sealer",
    "Signer",
    "SiteCredentialReads",
    "SiteCredentialWrites",
    "SlowWork",
    "StateWrites",
    "Store",
    "Switch",
    "TaskReads",
    "TaskWrites",
    "Tx",
    "Unmetered",
    "Verifiers",
]
