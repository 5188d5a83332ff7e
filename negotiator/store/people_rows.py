"""People of one project on one cursor: `ports.people` in SQL."""

from __future__ import annotations

from datetime import datetime

from negotiator.model.people import Factor, Password, Person, Session
from negotiator.model.times import format_time
from negotiator.store import statements
from negotiator.store.hot import Sql
from negotiator.store.rows import FACTOR, PASSWORD, PERSON, SESSION

__all__ = ["PeopleRows"]


class PeopleRows:
    """Accounts, passwords, factors and sessions (`PeopleReads`, `PeopleWrites`)."""

    __slots__ = ("_project", "_sql")

    def __init__(self, sql: Sql, project: str) -> None:
        self._sql = sql
        self._project = project

    def all(self) -> tuple[Person, ...]:
        """Return every account, disabled ones too, by creation."""
        return tuple(map(PERSON.from_row, self._sql.rows(statements.USERS, of_project=self._project)))

    def get(self, user_id: str) -> Person | None:
        """Return the account, also when it is disabled."""
        row = self._sql.row(statements.USER, of_project=self._project, of_user=user_id)
        return None if row is None else PERSON.from_row(row)

    def named(self, name: str) -> Person | None:
        """Return the account of that name, also when it is disabled."""
        row = self._sql.row(statements.USER_NAMED, of_project=self._project, of_name=name)
        return None if row is None else PERSON.from_row(row)

    def add(self, person: Person, password: Password) -> bool:
        """Store both; False if an account has that name, or had it."""
        rows = PERSON.to_row(self._project, person), PASSWORD.to_row(self._project, password)
        if self._sql.changed(statements.ADD_USER, **rows[0]) != 1:
            return False
        self._sql.run(statements.ADD_PASSWORD, **rows[1])
        return True

    def change(self, person: Person) -> None:
        """Store its roles and whether it is disabled."""
        row = PERSON.to_row(self._project, person)
        self._sql.run(
            statements.CHANGE_USER,
            of_project=self._project,
            of_user=person.user_id,
            new_roles=row["roles"],
            new_disabled_at=row["disabled_at"],
        )

    def password(self, user_id: str) -> Password | None:
        """Return the password of an account."""
        row = self._sql.row(statements.PASSWORD, of_project=self._project, of_user=user_id)
        return None if row is None else PASSWORD.from_row(row)

    def set_password(self, password: Password) -> None:
        """Put another password in the place of the account's."""
        row = PASSWORD.to_row(self._project, password)
        self._sql.run(
            statements.CHANGE_PASSWORD,
            of_project=self._project,
            of_user=password.user_id,
            new_verifier=row["verifier"],
            new_one_time=row["one_time"],
            new_changed_at=row["changed_at"],
        )

    def rehash(self, user_id: str, *, old: str, new: str) -> bool:
        """Put another verifier of the same password; False if the password is not any more what it was."""
        values = {"of_project": self._project, "of_user": user_id, "old_verifier": old, "new_verifier": new}
        return self._sql.changed(statements.REHASH_PASSWORD, **values) == 1

    def claim_password(self, user_id: str, verifier: str) -> bool:
        """Claim: it is still the password, and is not spent."""
        values = {"of_project": self._project, "of_user": user_id, "old_verifier": verifier}
        return self._sql.row(statements.CLAIM_PASSWORD, **values) is not None

    def spend_password(self, user_id: str, verifier: str) -> bool:
        """Claim and spend: it is still the one-time password, and nobody has used it."""
        values = {"of_project": self._project, "of_user": user_id, "old_verifier": verifier}
        return self._sql.changed(statements.SPEND_PASSWORD, **values) == 1

    def factors(self, user_id: str) -> tuple[Factor, ...]:
        """Return the factors of an account, by creation."""
        rows = self._sql.rows(statements.FACTORS_OF_USER, of_project=self._project, of_user=user_id)
        return tuple(map(FACTOR.from_row, rows))

    def add_factor(self, factor: Factor) -> bool:
        """Store it; False if that security key is registered here already, by whomever."""
        return self._sql.changed(statements.ADD_FACTOR, **FACTOR.to_row(self._project, factor)) == 1

    def remove_factor(self, user_id: str, factor_id: str) -> bool:
        """Delete it; False if there is none."""
        values = {"of_project": self._project, "of_user": user_id, "of_factor": factor_id}
        return self._sql.changed(statements.REMOVE_FACTOR, **values) == 1

    def advance_factor(self, factor: Factor, counter: int, at: datetime) -> bool:
        """Claim and raise: its counter is still below `counter`."""
        changed = self._sql.changed(
            statements.ADVANCE_FACTOR,
            of_project=self._project,
            of_user=factor.user_id,
            of_factor=factor.factor_id,
            new_counter=counter,
            new_used_at=format_time(at),
        )
        return changed == 1

    def use_factor(self, factor: Factor, at: datetime) -> bool:
        """Claim and note a use of a key that never counts: its counter is still 0."""
        changed = self._sql.changed(
            statements.USE_FACTOR,
            of_project=self._project,
            of_user=factor.user_id,
            of_factor=factor.factor_id,
            new_used_at=format_time(at),
        )
        return changed == 1

    def session(self, session_sha256: str) -> Session | None:
        """Return the session, open or not."""
        row = self._sql.row(statements.SESSION, of_project=self._project, of_session=session_sha256)
        return None if row is None else SESSION.from_row(row)

    def sessions(self, user_id: str, *, since: datetime) -> tuple[Session, ...]:
        """Return the sessions of an account that began after `since` and were not ended, newest first."""
        values = {"of_project": self._project, "of_user": user_id, "since": format_time(since)}
        return tuple(map(SESSION.from_row, self._sql.rows(statements.SESSIONS_OF_USER, **values)))

    def add_session(self, session: Session) -> None:
        """Store it."""
        self._sql.run(statements.ADD_SESSION, **SESSION.to_row(self._project, session))

    def touch_session(self, session_sha256: str, *, at: datetime, seen_before: datetime) -> bool:
        """Note that it was used, if it is not ended and that was not noted since `seen_before`."""
        changed = self._sql.changed(
            statements.TOUCH_SESSION,
            of_project=self._project,
            of_session=session_sha256,
            seen_before=format_time(seen_before),
            new_last_seen=format_time(at),
        )
        return changed == 1

    def claim_session(self, session_sha256: str, *, since: datetime) -> bool:
        """Claim: it began after `since`, was not ended, and its account is not disabled."""
        values = {"of_project": self._project, "of_session": session_sha256, "since": format_time(since)}
        return self._sql.row(statements.CLAIM_SESSION, **values) is not None

    def end_session(self, session_sha256: str, at: datetime) -> bool:
        """End it; False if it was ended or is unknown."""
        values = {"of_project": self._project, "of_session": session_sha256, "at": format_time(at)}
        return self._sql.changed(statements.END_SESSION, **values) == 1

    def end_sessions(self, user_id: str, at: datetime) -> int:
        """End all of an account; return how many were not ended."""
        values = {"of_project": self._project, "of_user": user_id, "at": format_time(at)}
        return self._sql.changed(statements.END_SESSIONS_OF_USER, **values)

    def forget_sessions(self, *, before: datetime, most: int) -> int:
        """Delete those that began before then, at most `most`, the oldest first; return how many."""
        values = {"of_project": self._project, "before": format_time(before), "most": most}
        return self._sql.changed(statements.FORGET_SESSIONS, **values)
