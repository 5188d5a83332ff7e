from __future__ import annotations

import base64

import pytest

from negotiator.content.credentials import find_credentials, is_private_key_object, is_secret_member


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("AKIA" + "IOSFODNN7EXAMPLE", "credential.aws"),
        ("uaixt" + "_agent7_q9w8e7r6t5y4u3i2o1p0", "credential.uaix-token"),
        ("password=hunter2", "credential.assignment"),
        ("Bearer a1b2c3d4e5f6g7h8", "credential.bearer"),
        ("https://alice:s3cr3t@example.org/", "credential.url"),
        ("AKIA IOSF" + " ODNN7EXAMPLE", "credential.aws-split"),
        (base64.b64encode(b"api_key=9f8e7d6c5b4a").decode(), "credential.base64"),
    ],
)
def test_a_hit_names_its_pattern_and_never_the_secret(text, pattern):
    (hit,) = find_credentials(text)
    assert hit.pattern == pattern
    assert "hunter2" not in repr(hit)
    assert text not in repr(hit)


def test_a_hit_says_where():
    (hit,) = find_credentials("see password=hunter2 there")
    assert (hit.start, hit.end) == (4, 20)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("password", "hunter2"),
        ("dbPassword", "swordfish"),
        ("x-api-key", "abcd-efgh"),
        ("API_KEY", "9f8e7d6c"),
        ("client_secret", "s3cr3t"),
        ("contraseña", "hunter2"),
        ("数据库密码", "hunter2"),
        ("pass\u200bword", "hunter2"),
        ("token", "a1b2c3d4e5f6g7h8"),
        ("Authorization", "a1b2c3d4e5f6g7h8"),
        ("access_token", "0190b7a2-7a55-7c3e-9b1f-2f4e5d6c7b8a"),
    ],
)
def test_a_member_whose_key_says_so_is_secret(key, value):
    assert is_secret_member(key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("password", ""),
        ("password", None),
        ("password", True),
        ("password", "<redacted>"),
        ("password", "never stored by this agent"),
        ("api_key", "OPENAI_API_KEY"),
        ("api_key", "${API_KEY}"),
        ("password_sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("token", "0190b7a2-7a55-7c3e-9b1f-2f4e5d6c7b8a"),
        ("idempotency_key", "order-20260115-0001"),
        ("public_key", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
        ("checksum", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("max_tokens", "4096 each"),
    ],
)
def test_other_members_are_not(key, value):
    assert not is_secret_member(key, value)


@pytest.mark.parametrize(
    ("members", "private"),
    [
        ({"kty": "OKP", "x": "11qYAYKx", "d": "nWGxne_9"}, True),
        ({"kty": "oct", "k": "GawgguFy"}, True),
        ({"kty": "OKP", "x": "11qYAYKx"}, False),
        ({"d": "nWGxne_9"}, False),
        ({"kty": "OKP", "d": None}, False),
    ],
)
def test_private_json_web_keys(members, private):
    assert is_private_key_object(members) is private
