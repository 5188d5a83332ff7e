"""People for tests: services over one store with hashes that cost nothing, and a security key in software."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import cbor2
import orjson
import pyotp
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from negotiator.model.people import Person
from negotiator.services.accounts import Accounts, By
from negotiator.services.delays import Delays
from negotiator.services.factors import RelyingParty
from negotiator.services.sessions import Sessions, SignedIn
from negotiator.services.step_up import StepUp
from negotiator.services.suppressed import Suppressed
from negotiator.store import AesSealer, Argon2Hashes, RandomIds, SqlStore, open_store
from tests.support.stores import HandClock

__all__ = ["HOST", "PARTY", "PASSWORD", "SOURCE", "House", "SoftKey", "code_of", "people_house"]

T = TypeVar("T")

PASSWORD = "correct horse battery"
SOURCE = "192.0.2.7"
HOST = By(id="root")
PARTY = RelyingParty(id="localhost", origin="http://localhost:8123", name="the console")


@dataclass
class AtOnce:
    """A gate that counts what passes it (`SlowWork`)."""

    passed: int = 0
    refusal: Exception | None = None

    async def run(self, work: Callable[[], T], *, source: str) -> T:
        assert source
        await asyncio.sleep(0)
        if self.refusal is not None:
            raise self.refusal
        self.passed += 1
        return work()


@dataclass
class House:
    """The services of one project's people."""

    store: SqlStore
    clock: HandClock
    slow: AtOnce
    hashes: Argon2Hashes
    delays: Delays
    suppressed: Suppressed
    accounts: Accounts
    sessions: Sessions
    step_up: StepUp
    urls: dict[str, str] = field(default_factory=dict)

    def add(self, name: str = "ada", *roles: str, password: str | None = PASSWORD, person: str = "") -> Person:
        chosen = roles or ("admin", "approver")
        return self.accounts.add(name, roles=chosen, by=HOST, password=password, person=person).person

    def add_totp(self, name: str = "ada") -> str:
        """Give the account an authenticator app and return its secret."""
        new = self.accounts.add_totp(name, label="phone", by=HOST)
        self.urls[name] = new.url
        return secret_in(new.url)

    async def signed_in(self, name: str = "ada", password: str = PASSWORD, source: str = SOURCE) -> SignedIn:
        return await self.sessions.sign_in(name, password, source=source)

    async def with_code(self, signed: SignedIn, secret: str) -> SignedIn:
        """Prove the present code."""
        return await self.step_up.with_code(signed.presence, code_of(secret, self.clock), source=SOURCE)

    async def with_new_key(self, signed: SignedIn, key: SoftKey, **given: Any) -> None:
        """Enrol a security key."""
        options = await self.step_up.offer_key(signed.presence, party=PARTY, source=SOURCE, **given)
        await self.step_up.enrol_key(signed.presence, key.registered(options), party=PARTY, label="key")

    def entries(self, code: str = "") -> list[dict[str, Any]]:
        lines = self.store.read_sync(lambda reader: list(reader.ledger.lines()))
        found = [orjson.loads(line) for line in lines]
        return [each for each in found if not code or each["code"] == code]


@contextmanager
def people_house(url: str = "sqlite://", *, hasher: PasswordHasher | None = None) -> Iterator[House]:
    """Give the services over the database at `url`, in a project `site`."""
    clock, ids, slow, suppressed = HandClock(), RandomIds(), AtOnce(), Suppressed()
    store = open_store(url, project="site", clock=clock)
    cheap = Argon2Hashes(hasher or PasswordHasher.from_parameters(CHEAPEST))
    sealer, delays = AesSealer(bytes(32)), Delays(clock, suppressed)
    shared: dict[str, Any] = {"store": store, "ids": ids}
    accounts = Accounts(hashes=cheap, sealer=sealer, project="site", issuer="site", **shared)
    sessions = Sessions(hashes=cheap, slow=slow, delays=delays, suppressed=suppressed, clock=clock, **shared)
    step_up = StepUp(
        sessions=sessions,
        sealer=sealer,
        delays=delays,
        suppressed=suppressed,
        clock=clock,
        project="site",
        issuer="site",
        **shared,
    )
    try:
        yield House(store, clock, slow, cheap, delays, suppressed, accounts, sessions, step_up)
    finally:
        store.stop()


def secret_in(url: str) -> str:
    """Return the secret of an `otpauth:` URL."""
    return parse_qs(urlsplit(url).query)["secret"][0]


def code_of(secret: str, clock: HandClock, *, steps: int = 0) -> str:
    """Return the code that an app shows now, or some steps from now."""
    return pyotp.TOTP(secret).at(clock.now(), counter_offset=steps)


def _text(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


class SoftKey:
    """A security key: one ES256 key pair.

    Args:
        counts: whether its signature counter moves.
        verifies: whether it verifies its user.
    """

    def __init__(self, *, counts: bool = True, verifies: bool = True) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.credential_id = secrets.token_bytes(32)
        self._counts = counts
        self._flags = 0x01 | (0x04 if verifies else 0)
        self.counter = 0

    def registered(self, options: Mapping[str, Any], *, origin: str = PARTY.origin) -> str:
        """Answer `navigator.credentials.create`."""
        numbers = self._key.public_key().public_numbers()
        point = {-2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        cose = cbor2.dumps({1: 2, 3: -7, -1: 1, **point})
        credential = bytes(16) + len(self.credential_id).to_bytes(2, "big") + self.credential_id + cose
        data = self._data(options["rp"]["id"], self._flags | 0x40) + credential
        made = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options["challenge"], origin)
        return self._answer({"clientDataJSON": _text(client), "attestationObject": _text(made)})

    def asserted(self, options: Mapping[str, Any], *, origin: str = PARTY.origin, rp_id: str = "") -> str:
        """Answer `navigator.credentials.get`."""
        self.counter += self._counts
        data = self._data(rp_id or options["rpId"], self._flags)
        client = self._client("webauthn.get", options["challenge"], origin)
        signature = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        parts = {"clientDataJSON": client, "authenticatorData": data, "signature": signature}
        return self._answer({name: _text(part) for name, part in parts.items()})

    def _data(self, rp_id: str, flags: int) -> bytes:
        return hashlib.sha256(rp_id.encode()).digest() + bytes([flags]) + self.counter.to_bytes(4, "big")

    def _client(self, kind: str, challenge: str, origin: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False}).encode()

    def _answer(self, response: Mapping[str, str]) -> str:
        name = _text(self.credential_id)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})
