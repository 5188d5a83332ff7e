"""Addresses are made from settings, and percent-encoded."""

import pytest

from negotiator.web.discovery.links import Links


@pytest.mark.parametrize(
    ("public_url", "mount", "expected"),
    [
        ("", "", "/v1/ladder"),
        ("", "/app", "/app/v1/ladder"),
        ("", "/app/", "/app/v1/ladder"),
        ("https://example.org", "", "https://example.org/v1/ladder"),
        ("https://example.org", "/app", "https://example.org/app/v1/ladder"),
    ],
)
def test_origin_mount_and_prefix_stand_in_that_order(public_url, mount, expected):
    assert Links(public_url=public_url, prefix="/v1", mount=mount).to("ladder") == expected


def test_a_parameter_cannot_leave_its_segment():
    links = Links(public_url="", prefix="/v1")
    assert links.to("profile", id="../x?y#z/é") == "/v1/profiles/..%2Fx%3Fy%23z%2F%C3%A9"


def test_a_row_that_is_not_there_has_no_address():
    with pytest.raises(KeyError):
        Links(public_url="", prefix="/v1").to("nothing")
