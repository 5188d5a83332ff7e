"""`Accept-Language` to a language, and catalogs that say everything."""

import re

import pytest

from negotiator.web.languages import LANGUAGES, load_messages, negotiate_language
from tests.support.page_messages import page_messages, read_catalog

_TRANSLATED = [language for language in LANGUAGES if language != "en"]
_MARKS = re.compile(r"%\(\w+\)s|</?\w+[^>]*>|`[^`]*`")


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("es", "es"),
        ("es-MX", "es"),
        ("es-419, en;q=0.5", "es"),
        ("ES-mx", "es"),
        ("zh-Hant-TW, zh-Hant;q=0.9", "zh"),
        ("zh-Hans-CN;q=0.3, es;q=0.2", "zh"),
        ("en;q=0.4, es;q=0.9", "es"),
        ("en-GB, es", "en"),
        ("es, zh", "es"),
        ("de, fr;q=0.9", "en"),
        ("de, zh;q=0.1", "zh"),
        ("*", "en"),
        ("de, *;q=0.5", "en"),
        ("en;q=0, *", "es"),
        ("es;q=0, es-MX", "en"),
        ("es;q=0.0, zh;q=0.001", "zh"),
        ("esperanto", "en"),
        ("es;q=2, zh;q=0.1", "zh"),
        ("es;q=, ;;, zh;q=0.1", "zh"),
        ("é" * 50, "en"),
        ("-es", "en"),
        (",".join(["de"] * 64 + ["es"]), "en"),
    ],
)
def test_the_heaviest_range_that_names_a_language_decides(accepted, language):
    assert negotiate_language(accepted, tuple(LANGUAGES)) == language


def test_an_endless_header_is_answered_at_once():
    assert negotiate_language("es-" * 100_000, tuple(LANGUAGES)) == "en"


@pytest.mark.parametrize("language", _TRANSLATED)
def test_a_catalog_holds_every_message_and_no_other(language):
    assert list(load_messages(language)) == page_messages()


@pytest.mark.parametrize("language", _TRANSLATED)
def test_no_entry_is_a_guess(language):
    assert [message.id for message in read_catalog(language) if message.fuzzy and message.id] == []


@pytest.mark.parametrize("language", _TRANSLATED)
def test_a_translation_has_the_placeholders_and_marks_of_its_message(language):
    different = [
        message
        for message, translation in load_messages(language).items()
        if sorted(_MARKS.findall(message)) != sorted(_MARKS.findall(translation))
    ]
    assert different == []


def test_chinese_is_written_in_chinese():
    messages = load_messages("zh")
    spoken = [message for message in messages if not re.search("[\u4e00-\u9fff]", messages[message])]
    assert spoken == []


def test_english_is_the_source_and_has_no_catalog():
    assert load_messages("en") == {}


def test_only_our_languages_have_messages():
    with pytest.raises(KeyError):
        load_messages("../es")
