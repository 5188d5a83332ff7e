"""What admins do to accounts of people. Each change commits with its `admin` entry, which holds no secret.

- Whoever is disabled, gets another password or other roles is signed out everywhere by the same commit.
- There is always an account that is not disabled and has the role admin, once there is one.
- A name is given once and for ever: an entry that names somebody names one account.

Nothing here needs an event loop. Hashing takes a tenth of a second, so a server calls it in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from negotiator.errors import RequestError, quoted
from negotiator.model.entries import EntryDraft, EntryKind, EntryValue
from negotiator.model.people import ADMIN, ROLES, Factor, FactorKind, Password, Person
from negotiator.ports import Ids, PasswordHashes, PeopleReads, Sealer, Store, Tx
from negotiator.services.factors import new_totp_secret, seal_place, totp_url
from negotiator.services.passwords import fit_password, new_password

__all__ = [
    "Account",
    "Accounts",
    "By",
    "NewPassword",
    "NewTotp",
    "check_label",
    "factor_entry",
    "is_name",
    "person_entry",
]

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_PERSON: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,199}")
_LOCALE: Final = re.compile(r"([a-z]{2,3}(-[A-Za-z0-9]{2,8})*)?")
_LABEL_CHARACTERS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who makes a change.

    Attributes:
        type: `Host` for a user of the host's command line, `Human` for a person who is signed in.
        id: the user's name, or the person's id.
        claim: run first in the unit; raises `ClaimFailed` where that person may not act any more.
    """

    type: Literal["Host", "Human"] = "Host"
    id: str
    claim: Callable[[Tx], None] = field(default=lambda _tx: None, repr=False)

    def as_json(self) -> Mapping[str, EntryValue]:
        """Return the entry's member `actor`."""
        return {"type": self.type, "id": self.id}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassword:
    """An account and, where it was made here, the only copy of its one-time password."""

    person: Person
    one_time_password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTotp:
    """A factor and the only copy of its secret, as an `otpauth:` URL."""

    factor: Factor
    url: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account as it is listed.

    Attributes:
        one_time: its password has to be changed before anything else.
    """

    person: Person
    one_time: bool
    factors: Sequence[Factor]


_Change: TypeAlias = Callable[[Tx, Person], Person]


class Accounts:
    """The accounts of one project.

    Args:
        project: its name, for the place of sealed secrets.
        issuer: what authenticator apps show beside the name.
    """

    def __init__(
        self, *, store: Store, hashes: PasswordHashes, sealer: Sealer, ids: Ids, project: str, issuer: str
    ) -> None:
        self._store = store
        self._hashes = hashes
        self._sealer = sealer
        self._ids = ids
        self._project = project
        self._issuer = issuer

    def add(
        self,
        name: str,
        *,
        roles: Iterable[str],
        by: By,
        person: str = "",
        locale: str = "",
        password: str | None = None,
    ) -> NewPassword:
        """Make an account.

        Args:
            name: lower-case letters, digits, `.`, `_`, `-`; at most 64.
            roles: of `ROLES`.
            by: who makes it.
            person: the person's id, if that person has accounts here already; else the name.
            locale: the language of pages; empty where the browser says.
            password: chosen by its owner; None makes a one-time password.

        Raises:
            RequestError: `name_invalid`, `name_taken`, `person_invalid`, `role_unknown`, `locale_invalid`,
                `password_unfit`.
            UnavailableError: it could not be recorded.
        """
        _check(name, person or name, locale)
        chosen = _known_roles(roles)
        given = new_password(self._ids) if password is None else fit_password(password, name=name)
        user_id, verifier, one_time = self._ids.new(), self._hashes.make(given), password is None

        def unit(tx: Tx) -> Person:
            by.claim(tx)
            made = Person(
                user_id=user_id, name=name, person=person or name, roles=chosen, locale=locale, created_at=tx.now
            )
            secret = Password(user_id=user_id, verifier=verifier, one_time=one_time, spent=False, changed_at=tx.now)
            if not tx.people.add(made, secret):
                message = f"an account named {quoted(name)} is or was here; take another name"
                raise RequestError(message, code="name_taken")
            tx.append(person_entry("user_added", made, by, roles=sorted(chosen), one_time=one_time))
            return made

        return NewPassword(person=self._store.transact_sync(unit), one_time_password=given if one_time else "")

    def set_password(self, name: str, *, by: By, password: str | None = None) -> NewPassword:
        """Put another password in the place of an account's, and sign it out everywhere.

        Args:
            name: of the account.
            by: who does it.
            password: chosen by its owner; None makes a one-time password.

        Raises:
            RequestError: `not_found`, `password_unfit`.
            UnavailableError: it could not be recorded.
        """
        given = new_password(self._ids) if password is None else fit_password(password, name=name)
        verifier, one_time = self._hashes.make(given), password is None

        def unit(tx: Tx) -> Person:
            by.claim(tx)
            found = _named(tx.people, name)
            tx.people.set_password(
                Password(user_id=found.user_id, verifier=verifier, one_time=one_time, spent=False, changed_at=tx.now)
            )
            ended = tx.people.end_sessions(found.user_id, tx.now)
            tx.append(person_entry("password_set", found, by, one_time=one_time, sessions_ended=ended))
            return found

        return NewPassword(person=self._store.transact_sync(unit), one_time_password=given if one_time else "")

    def set_roles(self, name: str, roles: Iterable[str], *, by: By) -> Person:
        """Give an account these roles and no others, and sign it out everywhere.

        Raises:
            RequestError: `not_found`, `role_unknown`, `last_admin`.
            UnavailableError: it could not be recorded.
        """
        chosen = _known_roles(roles)

        def change(_tx: Tx, found: Person) -> Person:
            return replace(found, roles=chosen)

        return self._changed("roles_changed", name, change, by)

    def disable(self, name: str, *, by: By) -> Person:
        """Let an account open nothing any more, from this commit on.

        Raises:
            RequestError: `not_found`, `last_admin`.
            UnavailableError: it could not be recorded.
        """
        return self._changed("user_disabled", name, lambda tx, found: replace(found, disabled_at=tx.now), by)

    def enable(self, name: str, *, by: By) -> Person:
        """Let an account sign in again, with the password and the factors that it had.

        Raises:
            RequestError: `not_found`.
            UnavailableError: it could not be recorded.
        """
        return self._changed("user_enabled", name, lambda _tx, found: replace(found, disabled_at=None), by)

    def listed(self) -> Sequence[Account]:
        """Return every account, disabled ones too, by creation.

        Raises:
            UnavailableError: the store cannot be read.
        """
        return self._store.read_sync(lambda reader: [_account(reader.people, one) for one in reader.people.all()])

    def account(self, name: str) -> Account:
        """Return one account.

        Raises:
            RequestError: `not_found`.
            UnavailableError: the store cannot be read.
        """
        return self._store.read_sync(lambda reader: _account(reader.people, _named(reader.people, name)))

    def has_admin(self) -> bool:
        """Whether anybody can administer accounts here.

        Raises:
            UnavailableError: the store cannot be read.
        """
        return bool(self._store.read_sync(lambda reader: _admins(reader.people)))

    def add_totp(self, name: str, *, label: str, by: By) -> NewTotp:
        """Give an account a new secret for one-time codes.

        Raises:
            RequestError: `not_found`, `label_invalid`.
            UnavailableError: it could not be recorded.
        """
        check_label(label)
        factor_id, secret = self._ids.new(), new_totp_secret(self._ids)
        user_id = self.account(name).person.user_id
        sealed = self._sealer.seal(secret, place=seal_place(self._project, user_id, factor_id))

        def unit(tx: Tx) -> Factor:
            by.claim(tx)
            made = Factor(
                factor_id=factor_id,
                user_id=user_id,
                kind=FactorKind.TOTP,
                label=label,
                secret=sealed,
                credential_id="",
                counter=0,
                created_at=tx.now,
            )
            tx.people.add_factor(made)
            tx.append(factor_entry("factor_added", _named(tx.people, name), made, by))
            return made

        factor = self._store.transact_sync(unit)
        return NewTotp(factor=factor, url=totp_url(secret, name=name, issuer=self._issuer))

    def remove_factor(self, name: str, factor_id: str, *, by: By) -> Factor:
        """Take a factor from an account, and sign it out everywhere.

        Args:
            name: of the account.
            factor_id: whole, or its beginning or its label where that names one factor.
            by: who does it.

        Raises:
            RequestError: `not_found`.
            UnavailableError: it could not be recorded.
        """

        def unit(tx: Tx) -> Factor:
            by.claim(tx)
            found = _named(tx.people, name)
            factor = _one_factor(tx.people.factors(found.user_id), factor_id)
            tx.people.remove_factor(found.user_id, factor.factor_id)
            ended = tx.people.end_sessions(found.user_id, tx.now)
            tx.append(factor_entry("factor_removed", found, factor, by, sessions_ended=ended))
            return factor

        return self._store.transact_sync(unit)

    def _changed(self, code: str, name: str, change: _Change, by: By) -> Person:
        def unit(tx: Tx) -> Person:
            by.claim(tx)
            before = _named(tx.people, name)
            after = change(tx, before)
            _keep_an_admin(tx.people, before, after)
            tx.people.change(after)
            ended = tx.people.end_sessions(after.user_id, tx.now)
            tx.append(person_entry(code, after, by, roles=sorted(after.roles), sessions_ended=ended))
            return after

        return self._store.transact_sync(unit)


def person_entry(code: str, person: Person, by: By, **members: EntryValue) -> EntryDraft:
    """Return the `admin` entry of a change to an account."""
    own: dict[str, EntryValue] = {
        "decision": "allow",
        "code": code,
        "principal": {"type": "Human", "id": person.person},
        "actor": by.as_json(),
        "user_id": person.user_id,
        "name": person.name,
    }
    return EntryDraft(kind=EntryKind.ADMIN, members=own | members)


def factor_entry(code: str, person: Person, factor: Factor, by: By, **members: EntryValue) -> EntryDraft:
    """Return the `admin` entry of a change to a factor; neither its secret nor its key is in it."""
    told: dict[str, EntryValue] = {"factor_id": factor.factor_id, "factor": factor.kind.value}
    return person_entry(code, person, by, **told, **members)


def is_name(text: str) -> bool:
    """Whether an account can be called so."""
    return _NAME.fullmatch(text) is not None


def check_label(label: str) -> None:
    """Refuse what cannot be shown in a list.

    Raises:
        RequestError: `label_invalid`.
    """
    if not (label.strip() and label.isprintable() and len(label) <= _LABEL_CHARACTERS):
        message = f"{quoted(label)} is no label; use 1 to {_LABEL_CHARACTERS} printable characters"
        raise RequestError(message, code="label_invalid")


def _check(name: str, person: str, locale: str) -> None:
    if not is_name(name):
        message = f"{quoted(name)} is no name; use lower-case letters, digits, '.', '_' and '-', at most 64"
        raise RequestError(message, code="name_invalid")
    if not _PERSON.fullmatch(person):
        message = f"{quoted(person)} is no person's id; use ASCII letters, digits and . _ : @ + -, at most 200"
        raise RequestError(message, code="person_invalid")
    if not _LOCALE.fullmatch(locale) or len(locale) > 32:
        message = f"{quoted(locale)} is no language; write a tag such as en, es or zh"
        raise RequestError(message, code="locale_invalid")


def _known_roles(roles: Iterable[str]) -> frozenset[str]:
    chosen = frozenset(roles)
    unknown = sorted(chosen - frozenset(ROLES))
    if unknown:
        message = f"{quoted(unknown[0])} is no role; there are {', '.join(ROLES)}"
        raise RequestError(message, code="role_unknown")
    return chosen


def _named(people: PeopleReads, name: str) -> Person:
    found = people.named(name)
    if found is None:
        message = f"no account is named {quoted(name)}; `negotiator user list` shows them"
        raise RequestError(message, code="not_found")
    return found


def _account(people: PeopleReads, person: Person) -> Account:
    password = people.password(person.user_id)
    one_time = password is not None and password.one_time
    return Account(person=person, one_time=one_time, factors=people.factors(person.user_id))


def _admins(people: PeopleReads) -> set[str]:
    return {one.user_id for one in people.all() if ADMIN in one.roles and one.disabled_at is None}


def _keep_an_admin(people: PeopleReads, before: Person, after: Person) -> None:
    """Refuse a change after which nobody could administer accounts."""
    still = ADMIN in after.roles and after.disabled_at is None
    if not still and _admins(people) == {before.user_id}:
        message = f"{quoted(before.name)} is the only admin; make another one first"
        raise RequestError(message, code="last_admin")


def _one_factor(factors: Sequence[Factor], wanted: str) -> Factor:
    found = [each for each in factors if wanted and (each.factor_id.startswith(wanted) or each.label == wanted)]
    if len(found) == 1:
        return found[0]
    message = f"{len(found)} factors of this account are called {quoted(wanted)}; give the id that the list shows"
    raise RequestError(message, code="not_found")
