"""The text form of API tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from negotiator.errors import RequestError
from negotiator.services.credentials import (
    ApiToken,
    format_api_token,
    format_site_token,
    is_site_token,
    parse_api_token,
    parse_site_token,
)

ID = "0193a7f0-0000-7000-8000-000000000001"
TOKEN = ApiToken(credential_id=ID, secret="s" * 43)


def test_a_token_survives_its_text() -> None:
    assert parse_api_token(format_api_token(TOKEN)) == TOKEN


def test_the_secret_is_in_no_representation() -> None:
    assert TOKEN.secret not in repr(TOKEN)


@given(st.integers(min_value=0, max_value=len(format_api_token(TOKEN)) - 1), st.characters(max_codepoint=0x7F))
def test_one_wrong_character_is_noticed(place: int, character: str) -> None:
    text = format_api_token(TOKEN)
    changed = text[:place] + character + text[place + 1 :]
    if changed != text:
        with pytest.raises(RequestError) as caught:
            parse_api_token(changed)
        assert caught.value.code == "credentials_invalid"


@given(st.text())
def test_nothing_else_parses(text: str) -> None:
    with pytest.raises(RequestError):
        parse_api_token(text)


def test_a_token_of_one_kind_is_none_of_the_other() -> None:
    agents, sites = format_api_token(TOKEN), format_site_token(TOKEN)
    assert parse_site_token(sites) == TOKEN
    assert (is_site_token(sites), is_site_token(agents)) == (True, False)
    for parse, text in (
        (parse_api_token, sites),
        (parse_site_token, agents),
        (parse_site_token, sites.removeprefix("uaixs_")),
        (parse_site_token, "uaixs_" + agents.removeprefix("uaixt_")),
    ):
        with pytest.raises(RequestError):
            parse(text)
