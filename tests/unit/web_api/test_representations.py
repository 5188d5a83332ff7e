"""Bytes and entity tags of documents."""

from types import MappingProxyType

import pytest

from negotiator.web.discovery.representations import json_bytes, matches_etag, represented


@pytest.mark.parametrize(
    ("header", "matches"),
    [
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ("*", True),
        ("", False),
        ('"b"', False),
        ("a", False),
        ('"a', False),
        ('"b", W/"c"', False),
    ],
)
def test_if_none_match_is_a_list_compared_weakly(header, matches):
    assert matches_etag(header, '"a"') is matches


def test_frozen_values_are_json_values_too():
    assert json_bytes(MappingProxyType({"b": ("x",), "a": frozenset("cb")})) == b'{"b":["x"],"a":["b","c"]}'


def test_what_is_no_json_value_is_a_fault():
    with pytest.raises(TypeError):
        json_bytes({"a": object()})


def test_entity_tags_follow_bytes_media_type_and_language():
    assert represented(b"a", "text/css").etag != represented(b"b", "text/css").etag
    assert represented(b"a", "text/css").etag != represented(b"a", "text/html").etag
    assert represented(b"a", "text/html", "en").etag != represented(b"a", "text/html", "es").etag
    assert represented(b"a", "text/html", "en").etag == represented(b"a", "text/html", "en").etag
