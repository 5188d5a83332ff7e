"""Passwords, codes, secrets and session ids go through a whole house with every log open, and are found nowhere."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from negotiator.errors import NegotiatorError
from tests.support.canaries import every_row, forms
from tests.support.house import house
from tests.support.people import HOST, PARTY, SOURCE, SoftKey, code_of, secret_in

CHOSEN = "chosen canary 4711 words"
MISTYPED = "mistyped canary 1147 words"
AS_A_NAME = "canary-typed-as-a-name"
KEPT = "p:kept-person-id"


async def test_nothing_that_proves_somebody_is_found_again(
    tmp_path: Path, database_url: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    with house(tmp_path, database=database_url) as built:
        accounts, sessions, step_up = built.negotiator.accounts, built.negotiator.sessions, built.negotiator.step_up

        async def failing(awaitable) -> None:
            with pytest.raises(NegotiatorError) as caught:
                await awaitable
            told.append(repr(caught.value) + caught.value.message)

        new = accounts.add("ada", roles=["admin"], by=HOST, person=KEPT)
        told.append(repr(new))
        enrolled = accounts.add_totp("ada", label="phone", by=HOST)
        secret = secret_in(enrolled.url)
        signed = await sessions.sign_in("ada", new.one_time_password, source=SOURCE)
        changed = await sessions.change_password(signed.presence, CHOSEN, source=SOURCE)
        await failing(sessions.sign_in("ada", MISTYPED, source=SOURCE))
        await failing(sessions.sign_in(AS_A_NAME, MISTYPED, source=SOURCE))
        await failing(sessions.change_password(changed.presence, MISTYPED[:8], current=CHOSEN, source=SOURCE))
        code = code_of(secret, built.clock)
        await failing(step_up.with_code(changed.presence, f"{code}{code}", source=SOURCE))
        stepped = await step_up.with_code(changed.presence, code, source=SOURCE)
        offered = await step_up.offer_totp(stepped.presence, source=SOURCE)
        options = await step_up.offer_key(stepped.presence, party=PARTY, source=SOURCE)
        await step_up.enrol_key(stepped.presence, SoftKey().registered(options), party=PARTY, label="key")
        told += [repr(each) for each in (signed, changed, stepped, enrolled, offered, accounts.listed())]
        built.negotiator.store.transact_sync(built.negotiator.suppressed.chore.unit)
        places = {"ledger": b"\n".join(built.negotiator.audit.tail(10_000))}
    places["database"] = every_row(database_url)
    places["told"] = "\n".join(told).encode()
    places["log"] = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records).encode()
    secrets = {
        "one-time password": new.one_time_password,
        "chosen": CHOSEN,
        "mistyped": MISTYPED,
        "typed as a name": AS_A_NAME,
        "secret": secret,
        "offered secret": secret_in(offered.url),
        "code": f"{code}{code}",
        **{f"session {number}": each.session_id for number, each in enumerate((signed, changed, stepped))},
    }
    found = [
        (name, place)
        for name, one in secrets.items()
        for place, content in places.items()
        if any(form in content for form in forms(one))
    ]
    assert found == []
    assert all(KEPT.encode() in places[place] for place in ("ledger", "database", "told"))
    assert b"sign_in_failed" in places["ledger"]
    assert b"$argon2id$v=19$m=65536,t=3,p=4$" in places["database"]
