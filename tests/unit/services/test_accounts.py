"""What admins do to accounts, and what the ledger says of it."""

from __future__ import annotations

import pytest

from negotiator.errors import ClaimFailed, RequestError
from negotiator.model.people import ROLES
from tests.support.people import HOST, PASSWORD, people_house


@pytest.fixture
def house():
    with people_house() as built:
        yield built


def fails(code: str, act) -> None:
    with pytest.raises(RequestError) as caught:
        act()
    assert caught.value.code == code


def test_an_account_is_made_with_what_was_given(house):
    new = house.accounts.add("ada", roles=["approver", "admin"], by=HOST, person="p:1", locale="es")
    assert (new.person.name, new.person.person, new.person.locale) == ("ada", "p:1", "es")
    assert new.person.roles == {"approver", "admin"}
    [account] = house.accounts.listed()
    assert (account.person, account.one_time, account.factors) == (new.person, True, ())
    [entry] = house.entries()
    assert (entry["kind"], entry["code"]) == ("admin", "user_added")
    assert (entry["actor"], entry["principal"]) == ({"type": "Host", "id": "root"}, {"type": "Human", "id": "p:1"})
    assert (entry["roles"], entry["one_time"]) == (["admin", "approver"], True)


def test_who_chose_a_password_need_not_change_it(house):
    new = house.accounts.add("ada", roles=["admin"], by=HOST, password=PASSWORD)
    assert (new.one_time_password, house.accounts.account("ada").one_time) == ("", False)
    assert house.accounts.set_password("ada", by=HOST).one_time_password
    assert house.accounts.account("ada").one_time


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "Ada"}, "name_invalid"),
        ({"name": ""}, "name_invalid"),
        ({"name": "a" * 65}, "name_invalid"),
        ({"name": "ada\n"}, "name_invalid"),
        ({"person": "ada lovelace"}, "person_invalid"),
        ({"person": "a\u200bb"}, "person_invalid"),
        ({"person": "p" * 201}, "person_invalid"),
        ({"locale": "Spanish, please"}, "locale_invalid"),
        ({"locale": "es" + "-abcdefgh" * 5}, "locale_invalid"),
        ({"roles": ["god"]}, "role_unknown"),
        ({"roles": ["Admin"]}, "role_unknown"),
        ({"password": "short"}, "password_unfit"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_and_leaves_nothing(house, given, code):
    values = {"name": "ada", "roles": ["admin"], "by": HOST} | given
    fails(code, lambda: house.accounts.add(values.pop("name"), **values))
    assert house.accounts.listed() == []
    assert house.entries() == []


def test_a_name_is_given_once_and_for_ever(house):
    house.add("eve", "admin")
    house.add()
    house.accounts.disable("ada", by=HOST)
    fails("name_taken", house.add)
    assert len(house.entries("user_added")) == 2


@pytest.mark.parametrize(
    "act",
    [
        lambda accounts: accounts.disable("ada", by=HOST),
        lambda accounts: accounts.set_roles("ada", [role for role in ROLES if role != "admin"], by=HOST),
    ],
    ids=["disabled", "other roles"],
)
def test_the_last_admin_stays(house, act):
    house.add()
    house.add("eve", "approver")
    house.add("ex", "admin")
    house.accounts.disable("ex", by=HOST)
    before = len(house.entries())
    fails("last_admin", lambda: act(house.accounts))
    assert len(house.entries()) == before
    assert house.accounts.has_admin()
    house.accounts.enable("ex", by=HOST)
    act(house.accounts)
    assert house.accounts.has_admin()


def test_nobody_is_needed_where_nobody_is_admin(house):
    assert not house.accounts.has_admin()
    house.add("eve", "approver")
    assert house.accounts.disable("eve", by=HOST).disabled_at is not None
    assert not house.accounts.has_admin()


def test_changes_are_recorded_with_who_made_them(house):
    house.add()
    house.add("eve", "admin")
    house.accounts.set_roles("eve", ["auditor"], by=HOST)
    house.accounts.disable("eve", by=HOST)
    house.accounts.enable("eve", by=HOST)
    house.accounts.set_password("eve", by=HOST)
    factor = house.accounts.add_totp("eve", label="phone", by=HOST).factor
    house.accounts.remove_factor("eve", "phone", by=HOST)
    told = [(each["code"], each["name"]) for each in house.entries()[2:]]
    codes = ["roles_changed", "user_disabled", "user_enabled", "password_set", "factor_added", "factor_removed"]
    assert told == [(code, "eve") for code in codes]
    assert house.entries("roles_changed")[0]["roles"] == ["auditor"]
    assert house.entries("factor_removed")[0]["factor_id"] == factor.factor_id


def test_whoever_is_signed_out_meanwhile_changes_nothing(house):
    house.add()
    house.add("eve", "admin")
    person = house.accounts.account("ada").person

    def gone(_tx):
        fact = "session_open"
        raise ClaimFailed(fact)

    by = type(HOST)(type="Human", id=person.person, claim=gone)
    for act in (
        lambda: house.accounts.disable("eve", by=by),
        lambda: house.accounts.set_password("eve", by=by),
        lambda: house.accounts.add_totp("eve", label="phone", by=by),
        lambda: house.accounts.add("new", roles=["admin"], by=by),
    ):
        with pytest.raises(ClaimFailed):
            act()
    assert [each["code"] for each in house.entries()] == ["user_added", "user_added"]


def test_factors_are_named_by_id_or_label_where_that_is_clear(house):
    house.add()
    one = house.accounts.add_totp("ada", label="phone", by=HOST).factor
    house.accounts.add_totp("ada", label="tablet", by=HOST)
    house.accounts.add_totp("ada", label="tablet", by=HOST)
    for wanted in ("", "tablet", "nothing"):
        fails("not_found", lambda wanted=wanted: house.accounts.remove_factor("ada", wanted, by=HOST))
    house.accounts.remove_factor("ada", one.factor_id, by=HOST)
    assert [each.label for each in house.accounts.account("ada").factors] == ["tablet", "tablet"]


@pytest.mark.parametrize("label", ["", "   ", "x" * 65, "two\nlines", "\u202eturned"])
def test_a_label_can_be_shown(house, label):
    house.add()
    fails("label_invalid", lambda: house.accounts.add_totp("ada", label=label, by=HOST))


@pytest.mark.parametrize(
    "act",
    [
        lambda accounts: accounts.disable("nobody", by=HOST),
        lambda accounts: accounts.enable("nobody", by=HOST),
        lambda accounts: accounts.set_password("nobody", by=HOST),
        lambda accounts: accounts.set_roles("nobody", [], by=HOST),
        lambda accounts: accounts.account("nobody"),
        lambda accounts: accounts.add_totp("nobody", label="x", by=HOST),
        lambda accounts: accounts.remove_factor("nobody", "x", by=HOST),
    ],
)
def test_an_unknown_account_is_not_found(house, act):
    fails("not_found", lambda: act(house.accounts))
