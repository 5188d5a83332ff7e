"""What a password may be."""

from __future__ import annotations

import re

import pytest

from negotiator.errors import RequestError
from negotiator.services.passwords import MAX_CHARACTERS, fit_password, new_password, normalised_password
from negotiator.store import RandomIds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "short",
        "elevenchars",
        "aaaaaaaaaaaaaaaa",
        "abcdabcdabcdabcd",
        "Ada.Lovelace-1815",
        "with a \x00 in it, and long",
        "a line\nand another line",
        "x" * (MAX_CHARACTERS - 2) + "yzabc",
    ],
)
def test_unfit_passwords_are_refused_and_not_echoed(text):
    with pytest.raises(RequestError) as caught:
        fit_password(text, name="ada.lovelace-1815")
    assert caught.value.code == "password_unfit"
    assert not text or text not in caught.value.message


@pytest.mark.parametrize(
    "text", ["correct horse", "пароль из слов", "八個字的密碼也要長一點吧好嗎", "  spaces at the ends  "]
)
def test_any_words_are_fit(text):
    assert fit_password(text, name="ada") == text


def test_composed_and_decomposed_letters_are_one_password():
    assert normalised_password("cafe\u0301 con leche y más") == normalised_password("caf\u00e9 con leche y ma\u0301s")


def test_what_is_no_text_is_only_wrong():
    assert isinstance(normalised_password("\ud800" * 20).encode(), bytes)


def test_made_passwords_differ_fit_and_can_be_typed():
    made = {new_password(RandomIds()) for _ in range(50)}
    assert len(made) == 50
    for each in made:
        assert re.fullmatch(r"([a-z2-7]{5}-){3}[a-z2-7]{5}", each)
        assert fit_password(each, name="ada") == each
