"""Signing in and out, what a session proves, and what an account may do about itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from argon2 import PasswordHasher

from negotiator.errors import ClaimFailed, RequestError, UnavailableError
from negotiator.model.entries import EntryKind
from negotiator.model.facts import HumanFacts
from negotiator.model.levels import Level
from negotiator.model.people import HumanClaim
from negotiator.services.administration import Administration
from negotiator.services.presence import vouched_for
from negotiator.services.sessions import MOST_SESSIONS
from tests.support.people import HOST, PARTY, PASSWORD, SOURCE, SoftKey, code_of, people_house, secret_in
from tests.support.stores import draft

NEW = "a new battery of horses"
OBJECT, OTHER = "ab" * 32, "cd" * 32


@pytest.fixture
def house():
    with people_house() as built:
        yield built


async def fails(awaitable, code: str) -> str:
    with pytest.raises((RequestError, UnavailableError)) as caught:
        await awaitable
    assert caught.value.code == code
    return caught.value.message


def assurance(house, signed, object_sha256: str = "") -> int:
    return signed.presence.facts(house.clock.now(), object_sha256=object_sha256).assurance


async def test_a_password_opens_a_session_that_proves_it_for_five_minutes(house):
    house.add("ada", "admin", "approver", person="p:ada")
    signed = await house.signed_in()
    found = await house.sessions.presence(signed.session_id)
    assert found == signed.presence
    assert found.facts(house.clock.now()) == HumanFacts(
        person="p:ada", assurance=2, roles=frozenset({"admin", "approver"})
    )
    house.clock.move(300)
    assert found.facts(house.clock.now()).assurance == 1
    [entry] = house.entries("signed_in")
    assert (entry["kind"], entry["principal"], entry["assurance"]) == ("identity", {"type": "Human", "id": "p:ada"}, 2)
    assert entry["source"] == "192.0.2.0/24"


async def test_ids_are_long_new_each_time_and_not_kept(house):
    house.add()
    ids = {(await house.signed_in()).session_id for _ in range(3)}
    assert len(ids) == 3
    assert min(map(len, ids)) >= 43
    kept = house.store.read_sync(lambda reader: repr(reader.people.sessions("", since=house.clock.now())))
    assert not any(each in kept for each in ids)


@pytest.mark.parametrize("name", ["ada", "nobody", "", "Ada", "x" * 10_000, "a\x00b", "\ud800"])
async def test_whatever_is_wrong_is_the_same_refusal_after_the_same_work(house, name):
    house.add()
    before = house.slow.passed
    message = await fails(house.sessions.sign_in(name, "wrong password", source=SOURCE), "sign_in_failed")
    assert house.slow.passed == before + 1
    house.accounts.add("eve", roles=["admin"], by=HOST, password=PASSWORD)
    house.accounts.disable("ada", by=HOST)
    assert await fails(house.sessions.sign_in("ada", PASSWORD, source="203.0.113.9"), "sign_in_failed") == message
    assert house.slow.passed == before + 2
    assert house.suppressed.waiting() == 2


async def test_signing_in_ends_the_session_that_the_browser_had(house):
    house.add()
    first = await house.signed_in()
    await house.sessions.sign_in("ada", PASSWORD, source=SOURCE, previous=first.session_id)
    await fails(house.sessions.presence(first.session_id), "sign_in_required")


@pytest.mark.parametrize("session_id", ["", "nothing", "x" * 10_000, "\ud800"])
async def test_an_unknown_session_is_nobody(house, session_id):
    await fails(house.sessions.presence(session_id), "sign_in_required")


async def test_a_session_ends_by_half_an_hour_of_silence_or_after_twelve_hours(house):
    house.add()
    silent = await house.signed_in()
    used = await house.signed_in()
    for _ in range(25):
        house.clock.move(1_700)
        await house.sessions.presence(used.session_id)
    await fails(house.sessions.presence(silent.session_id), "sign_in_required")
    house.clock.move(700)
    await fails(house.sessions.presence(used.session_id), "sign_in_required")
    with pytest.raises(ClaimFailed):
        await house.store.transact(used.presence.claim)


async def test_use_is_written_down_once_a_minute(house):
    house.add()
    signed = await house.signed_in()
    begun = signed.presence.session.last_seen
    house.clock.move(59)
    assert (await house.sessions.presence(signed.session_id)).session.last_seen == begun
    house.clock.move(1)
    assert (await house.sessions.presence(signed.session_id)).session.last_seen == begun + timedelta(seconds=60)


async def test_signing_out_ends_it_once(house):
    house.add()
    signed, other = await house.signed_in(), await house.signed_in()
    for _ in range(2):
        await house.sessions.sign_out(signed.presence)
    await fails(house.sessions.presence(signed.session_id), "sign_in_required")
    assert await house.sessions.presence(other.session_id)
    assert len(house.entries("signed_out")) == 1


async def test_one_may_sign_out_everywhere_else(house):
    house.add()
    signed = [await house.signed_in() for _ in range(3)]
    assert len(await house.sessions.others(signed[1].presence)) == 2
    assert await house.sessions.sign_out_others(signed[1].presence) == 2
    assert await house.sessions.others(signed[1].presence) == []
    assert await house.sessions.presence(signed[1].session_id)


async def test_an_account_has_so_many_sessions_and_no_more(house):
    house.add()
    signed = []
    for _ in range(MOST_SESSIONS + 1):
        house.clock.move(1)
        signed.append(await house.signed_in())
    await fails(house.sessions.presence(signed[0].session_id), "sign_in_required")
    assert await house.sessions.presence(signed[1].session_id)


@pytest.mark.parametrize(
    "change",
    [
        lambda accounts: accounts.disable("ada", by=HOST),
        lambda accounts: accounts.set_password("ada", by=HOST),
        lambda accounts: accounts.set_roles("ada", ["auditor"], by=HOST),
    ],
    ids=["disabled", "another password", "other roles"],
)
async def test_a_change_of_the_account_ends_its_sessions_also_under_way(house, change):
    house.add()
    house.add("eve", "admin")
    signed, eve = await house.signed_in(), await house.signed_in("eve")
    change(house.accounts)
    await fails(house.sessions.presence(signed.session_id), "sign_in_required")
    with pytest.raises(ClaimFailed):
        await house.store.transact(signed.presence.claim)
    await house.store.transact(eve.presence.claim)


async def test_a_one_time_password_opens_one_session_and_only_to_choose_another(house):
    given = house.accounts.add("ada", roles=["admin"], by=HOST).one_time_password
    signed = await house.signed_in(password=given)
    assert signed.presence.restricted
    assert signed.presence.facts(house.clock.now()) == HumanFacts(person="ada", assurance=1)
    await fails(house.signed_in(password=given), "sign_in_failed")
    for act in (
        house.step_up.offer_totp(signed.presence, password=given, source=SOURCE),
        house.step_up.with_code(signed.presence, "000000", source=SOURCE),
        house.step_up.challenge(signed.presence, party=PARTY),
        house.sessions.confirm_password(signed.presence, given, source=SOURCE),
    ):
        await fails(act, "password_change_required")
    await fails(house.sessions.change_password(signed.presence, given, source=SOURCE), "password_unfit")
    changed = await house.sessions.change_password(signed.presence, NEW, source=SOURCE)
    assert (changed.presence.restricted, assurance(house, changed)) == (False, 2)
    await fails(house.sessions.presence(signed.session_id), "sign_in_required")
    assert await house.signed_in(password=NEW)
    assert given not in str(house.entries())


async def test_changing_a_password_takes_the_old_one_and_ends_the_other_sessions(house):
    house.add()
    signed, other = await house.signed_in(), await house.signed_in()
    change = house.sessions.change_password
    await fails(change(signed.presence, NEW, source=SOURCE), "sign_in_failed")
    await fails(change(signed.presence, "short", current=PASSWORD, source=SOURCE), "password_unfit")
    changed = await change(signed.presence, NEW, current=PASSWORD, source=SOURCE)
    for old in (signed, other):
        await fails(house.sessions.presence(old.session_id), "sign_in_required")
    assert await house.sessions.presence(changed.session_id)
    [entry] = house.entries("password_changed")
    assert (entry["kind"], entry["actor"], entry["sessions_ended"]) == ("admin", {"type": "Human", "id": "ada"}, 2)


async def test_a_password_is_the_same_however_its_letters_are_composed(house):
    house.add(password="café con leche, mañana")
    assert await house.signed_in(password="cafe\u0301 con leche, man\u0303ana")


async def test_better_parameters_are_taken_up_when_somebody_signs_in():
    with people_house() as house:
        house.add()
        user_id = house.accounts.account("ada").person.user_id

        def verifier():
            return house.store.read_sync(lambda reader: reader.people.password(user_id).verifier)

        old = verifier()
        house.hashes._hasher = PasswordHasher(time_cost=2, memory_cost=16, parallelism=1)
        await house.signed_in()
        new = verifier()
        assert new != old
        assert "m=16,t=2" in new
        await house.signed_in()
        assert verifier() == new


async def test_work_that_could_not_be_done_is_no_failure(house):
    house.add()
    house.slow.refusal = UnavailableError("too many wait", code="over_budget")
    for _ in range(30):
        await fails(house.signed_in(), "over_budget")
    house.slow.refusal = None
    assert await house.signed_in()


async def test_a_code_proves_more_for_five_minutes_in_a_new_session(house):
    house.add()
    secret = house.add_totp()
    signed = await house.signed_in()
    stepped = await house.with_code(signed, secret)
    assert assurance(house, stepped) == 3
    assert stepped.session_id != signed.session_id
    assert stepped.presence.session.csrf_secret != signed.presence.session.csrf_secret
    await fails(house.sessions.presence(signed.session_id), "sign_in_required")
    house.clock.move(299)
    assert assurance(house, stepped) == 3
    house.clock.move(1)
    assert assurance(house, stepped) == 1
    [entry] = house.entries("stepped_up")
    assert (entry["assurance"], entry["kind"]) == (3, EntryKind.IDENTITY.value)


async def test_a_step_up_does_not_make_a_session_last_longer(house):
    house.add()
    secret = house.add_totp()
    signed = await house.signed_in()
    begun = signed.presence.session.created_at
    house.clock.move(1_700)
    stepped = await house.with_code(signed, secret)
    assert (stepped.presence.session.created_at, stepped.presence.session.last_seen) == (begun, house.clock.now())


async def test_a_weaker_proof_leaves_a_stronger_one(house):
    house.add()
    secret = house.add_totp()
    stepped = await house.with_code(await house.signed_in(), secret)
    house.clock.move(100)
    confirmed = await house.sessions.confirm_password(stepped.presence, PASSWORD, source=SOURCE)
    assert assurance(house, confirmed) == 3
    house.clock.move(200)
    assert assurance(house, confirmed) == 1
    again = await house.sessions.confirm_password(confirmed.presence, PASSWORD, source=SOURCE)
    assert assurance(house, again) == 2


async def test_a_wrong_code_is_refused_counted_and_makes_wait(house):
    house.add()
    house.add_totp()
    signed = await house.signed_in()
    for _ in range(4):
        await fails(house.step_up.with_code(signed.presence, "000000", source=SOURCE), "factor_failed")
    await fails(house.step_up.with_code(signed.presence, "000000", source="203.0.113.1"), "sign_in_delayed")
    assert house.suppressed.waiting() == 5
    assert await house.sessions.presence(signed.session_id)


async def test_a_key_that_signed_an_object_counts_for_it_alone(house):
    house.add()
    key = SoftKey()
    signed = await house.signed_in()
    await house.with_new_key(signed, key, password=PASSWORD)
    options = await house.step_up.challenge(signed.presence, party=PARTY, object_sha256=OBJECT)
    answer = key.asserted(options)
    elsewhere = house.step_up.with_key(signed.presence, answer, party=PARTY, source=SOURCE, object_sha256=OTHER)
    await fails(elsewhere, "factor_failed")
    await fails(house.step_up.with_key(signed.presence, answer, party=PARTY, source=SOURCE), "factor_failed")
    bound = await house.step_up.with_key(signed.presence, answer, party=PARTY, source=SOURCE, object_sha256=OBJECT)
    assert [assurance(house, bound, each) for each in (OBJECT, OTHER, "")] == [4, 2, 2]
    [entry] = house.entries("stepped_up")
    assert (entry["assurance"], entry["object_sha256"]) == (4, OBJECT)
    approver = bound.presence.approver(house.clock.now(), object_sha256=OBJECT, operated_agents=frozenset())
    assert (approver.assurance, approver.roles) == (4, frozenset({"admin", "approver"}))
    house.clock.move(300)
    assert assurance(house, bound, OBJECT) == 1


async def test_a_key_that_signed_nothing_in_particular_is_a_second_factor(house):
    house.add()
    key = SoftKey(counts=False)
    signed = await house.signed_in()
    await house.with_new_key(signed, key, password=PASSWORD)
    for _ in range(2):
        options = await house.step_up.challenge(signed.presence, party=PARTY)
        signed = await house.step_up.with_key(signed.presence, key.asserted(options), party=PARTY, source=SOURCE)
    assert [assurance(house, signed, each) for each in ("", OBJECT)] == [4, 3]


async def test_an_answer_is_of_no_use_twice(house):
    house.add()
    key = SoftKey(counts=False)
    signed = await house.signed_in()
    await house.with_new_key(signed, key, password=PASSWORD)
    answer = key.asserted(await house.step_up.challenge(signed.presence, party=PARTY))
    stepped = await house.step_up.with_key(signed.presence, answer, party=PARTY, source=SOURCE)
    await fails(house.step_up.with_key(stepped.presence, answer, party=PARTY, source=SOURCE), "factor_failed")
    await fails(house.step_up.with_key(signed.presence, answer, party=PARTY, source=SOURCE), "sign_in_required")


async def test_the_first_factor_takes_the_password_and_the_next_one_a_factor(house):
    house.add()
    signed = await house.signed_in()
    offer = house.step_up.offer_totp
    await fails(offer(signed.presence, source=SOURCE), "sign_in_failed")
    offered = await offer(signed.presence, password=PASSWORD, source=SOURCE)
    secret = secret_in(offered.url)
    assert secret not in offered.offer
    enrol = house.step_up.enrol_totp
    code = code_of(secret, house.clock)
    await fails(enrol(signed.presence, offered.offer, "000000", label="app", source=SOURCE), "factor_failed")
    await fails(enrol(signed.presence, offered.offer, code, label="", source=SOURCE), "label_invalid")
    made = await enrol(signed.presence, offered.offer, code, label="app", source=SOURCE)
    assert [each.factor_id for each in await house.step_up.factors(signed.presence)] == [made.factor_id]
    await fails(house.step_up.with_code(signed.presence, code, source=SOURCE), "factor_failed")

    await fails(offer(signed.presence, password=PASSWORD, source=SOURCE), "assurance_too_low")
    await fails(house.step_up.remove(signed.presence, made.factor_id), "assurance_too_low")
    await fails(
        house.step_up.offer_key(signed.presence, party=PARTY, password=PASSWORD, source=SOURCE), "assurance_too_low"
    )
    house.clock.move(30)
    stepped = await house.with_code(signed, secret)
    await house.with_new_key(stepped, SoftKey())
    await fails(house.step_up.remove(stepped.presence, "nothing"), "not_found")
    await house.step_up.remove(stepped.presence, made.factor_id)
    told = [(each["code"], each["factor"], each["actor"]["type"]) for each in house.entries() if "factor" in each]
    assert told == [
        ("factor_added", "totp", "Human"),
        ("factor_added", "webauthn", "Human"),
        ("factor_removed", "totp", "Human"),
    ]


async def test_an_offer_is_of_one_session_and_ten_minutes(house):
    house.add()
    first, second = await house.signed_in(), await house.signed_in()
    offer = house.step_up.offer_totp
    one, other = [await offer(first.presence, password=PASSWORD, source=SOURCE) for _ in range(2)]

    def enrol(signed, offered):
        code = code_of(secret_in(offered.url), house.clock)
        return house.step_up.enrol_totp(signed.presence, offered.offer, code, label="app", source=SOURCE)

    await fails(enrol(second, one), "factor_failed")
    house.clock.move(599)
    assert await enrol(first, one)
    house.clock.move(1)
    await fails(enrol(first, other), "factor_failed")


async def test_a_security_key_is_registered_once(house):
    house.add()
    house.add("eve", "approver")
    key = SoftKey()
    ada, eve = await house.signed_in(), await house.signed_in("eve")
    await house.with_new_key(ada, key, password=PASSWORD)
    await fails(house.with_new_key(eve, key, password=PASSWORD), "factor_taken")


async def test_a_person_runs_agents_by_any_of_their_names(house):
    house.add("ada", "approver", "admin", person="p1")
    house.add("ada.second", "reviewer", person="p1")
    agents = Administration(store=house.store, verifiers=NoVerifiers(), ids=house.sessions._ids)
    for number, who in enumerate(["p1", "ADA", "ada.second", "eve", ""]):
        agents.add_agent(f"agent{number}", max_level=Level.L3, operated_by=who, actor="root")
    found = await house.sessions.operated_agents((await house.signed_in()).presence)
    names = {agent.name for agent in agents.agents() if agent.agent_id in found}
    assert names == {"agent0", "agent1", "agent2"}


class NoVerifiers:
    def verifier(self, secret: str) -> str:
        return "0" * 64

    def matches(self, secret: str, verifier: str) -> bool:
        return False


def test_people_that_the_site_vouches_for_have_a_mere_session():
    claim = HumanClaim(person="p1", roles=frozenset({"approver", "god"}))
    assert vouched_for(claim) == HumanFacts(person="p1", assurance=1, roles=frozenset({"approver"}))


async def test_what_a_session_does_is_recorded_only_while_it_stands(house):
    house.add()
    signed = await house.signed_in()
    await house.sessions.sign_out(signed.presence)

    def unit(tx):
        signed.presence.claim(tx)
        tx.append(draft(code="done"))

    with pytest.raises(ClaimFailed):
        await house.store.transact(unit)
    assert house.entries("done") == []
