from datetime import UTC, datetime

import pytest

from negotiator.errors import RequestError
from negotiator.model.governed import Presented
from negotiator.web.presented import MAX_EVIDENCE_IDS, parse_presented
from tests.support.asgi import http_scope

JWS = b"eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiIxIn0.c2ln-_"
TOKEN = b"uaixt_01890a5d-ac96-774b-bcce-b302099a8057_c2VjcmV0"
TRACE = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def parsed(*headers, own_route=False):
    return parse_presented(http_scope("POST", "/comments", *headers), own_route=own_route)


def refused(*headers, own_route=False):
    with pytest.raises(RequestError) as caught:
        parsed(*headers, own_route=own_route)
    return caught.value


def test_no_header_is_no_claim():
    assert parsed() == Presented()


def test_every_claim_is_read():
    presented = parsed(
        (b"uaix-negotiation", JWS),
        (b"uaix-credential", TOKEN),
        (b"uaix-correlation", b"run/7#a@b"),
        (b"uaix-expires", b"2030-01-31T12:00:00.25Z"),
        (b"idempotency-key", b"key-1"),
        (b"uaix-consent", b"01890a5d-ac96-774b-bcce-b302099a8057"),
        (b"uaix-evidence", b"sha256:aa ,sha256:bb,\tsha256:aa"),
        (b"traceparent", TRACE),
    )
    assert presented == Presented(
        negotiation=JWS.decode(),
        credential=TOKEN.decode(),
        correlation="run/7#a@b",
        expires_at=datetime(2030, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC),
        idempotency_key="key-1",
        consent="01890a5d-ac96-774b-bcce-b302099a8057",
        evidence=("sha256:aa", "sha256:bb"),
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    )


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (b"abc", "abc"),
        (b"A-z_0.9:~", "A-z_0.9:~"),
        (b'"abc"', "abc"),
        (b'"a b, c;d"', "a b, c;d"),
        (b'"say \\"hi\\" \\\\ there"', 'say "hi" \\ there'),
        (b" padded\t", "padded"),
        (b"k" * 255, "k" * 255),
        (b'"' + b"k" * 255 + b'"', "k" * 255),
        (b'"' + b'\\"' * 255 + b'"', '"' * 255),
    ],
)
def test_an_idempotency_key_is_a_string_or_bare(value, key):
    assert parsed((b"idempotency-key", value)).idempotency_key == key


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b" ",
        b'""',
        b"k" * 256,
        b"k" * 10_240,
        b'"' + b"k" * 256 + b'"',
        b'"' + b'\\"' * 256 + b'"',
        b"a,b",
        b'"a", "b"',
        b'"a";p=1',
        b"a b",
        b"a/b",
        b'"open',
        b'open"',
        b'"a\\n"',
        b'"a"b"',
        b"a\x00b",
        b'"a\x00b"',
        b'"a\tb"',
        b"a\x7fb",
        b"a\nb",
        b"abc\n",
        b"caf\xc3\xa9",
        b'"caf\xe9"',
        b"?1",
        b"1.5,",
    ],
)
def test_any_other_idempotency_key_is_malformed_and_not_echoed(value):
    error = refused((b"idempotency-key", value))
    assert error.code == "header_malformed"
    assert "idempotency-key" in error.message
    assert value.decode("latin-1").strip() == "" or value.decode("latin-1") not in error.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"uaix-negotiation", b""),
        (b"uaix-negotiation", b"a.b"),
        (b"uaix-negotiation", b"a.b.c.d.e"),
        (b"uaix-negotiation", b"a.b.c, d.e.f"),
        (b"uaix-negotiation", b"a.b.c="),
        (b"uaix-negotiation", b"a.b." + b"c" * 4096),
        (b"uaix-credential", b""),
        (b"uaix-credential", b"two words"),
        (b"uaix-credential", b"x" * 513),
        (b"uaix-credential", b"a,b"),
        (b"uaix-correlation", b""),
        (b"uaix-correlation", b"a b"),
        (b"uaix-correlation", b"a,b"),
        (b"uaix-correlation", b'a"b'),
        (b"uaix-correlation", b"a;b"),
        (b"uaix-correlation", b"a\\b"),
        (b"uaix-correlation", b"x" * 256),
        (b"uaix-correlation", b"a\r\nb"),
        (b"uaix-correlation", "a\u202eb".encode()),
        (b"uaix-expires", b""),
        (b"uaix-expires", b"2030-01-31"),
        (b"uaix-expires", b"2030-01-31T12:00:00"),
        (b"uaix-expires", b"2030-01-31T12:00:00+00:00"),
        (b"uaix-expires", b"2030-01-31t12:00:00z"),
        (b"uaix-expires", b"2030-02-30T12:00:00Z"),
        (b"uaix-expires", b"2030-01-31T12:00:60Z"),
        (b"uaix-expires", b"2030-01-31T24:00:00Z"),
        (b"uaix-expires", b"0000-01-31T12:00:00Z"),
        (b"uaix-expires", b"2030-01-31T12:00:00.Z"),
        (b"uaix-expires", b"1900000000"),
        (b"uaix-expires", "\uff12030-01-31T12:00:00Z".encode()),
        (b"uaix-consent", b""),
        (b"uaix-consent", b"a, b"),
        (b"uaix-evidence", b""),
        (b"uaix-evidence", b"a,"),
        (b"uaix-evidence", b"a,,b"),
        (b"uaix-evidence", b"a b"),
        (b"uaix-evidence", b",".join([b"a"] * (MAX_EVIDENCE_IDS + 1))),
        (b"traceparent", b""),
        (b"traceparent", b"ff" + TRACE[2:]),
        (b"traceparent", TRACE.upper()),
        (b"traceparent", TRACE + b"-extra"),
        (b"traceparent", b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01"),
        (b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-" + b"0" * 16 + b"-01"),
    ],
)
def test_a_header_out_of_its_grammar_is_malformed(name, value):
    error = refused((name, value))
    assert (error.code, name.decode() in error.message) == ("header_malformed", True)


def test_a_later_trace_version_may_say_more():
    assert parsed((b"traceparent", b"01" + TRACE[2:] + b"-extra")).trace_id == "0af7651916cd43dd8448eb211c80319c"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"idempotency-key", b"abc"),
        (b"uaix-negotiation", JWS),
        (b"uaix-credential", TOKEN),
        (b"uaix-correlation", b"c"),
        (b"uaix-expires", b"2030-01-31T12:00:00Z"),
        (b"uaix-consent", b"c"),
        (b"uaix-evidence", b"e"),
        (b"traceparent", TRACE),
        (b"Idempotency-Key", b"abc"),
    ],
)
def test_a_repeated_header_is_malformed(name, value):
    assert refused((name, value), (name.lower(), value)).code == "header_malformed"


def test_nanoseconds_are_cut_to_the_earlier_microsecond():
    expires = parsed((b"uaix-expires", b"2030-01-31T12:00:00.123456999Z")).expires_at
    assert expires == datetime(2030, 1, 31, 12, 0, 0, 123_456, tzinfo=UTC)


class TestCredentials:
    def test_on_the_sites_routes_authorization_is_the_sites(self):
        presented = parsed((b"authorization", b"Basic dTpw"), (b"uaix-credential", TOKEN))
        assert presented.credential == TOKEN.decode()

    def test_on_our_routes_a_bearer_token_is_the_credential(self):
        assert parsed((b"authorization", b"bearer  " + TOKEN), own_route=True).credential == TOKEN.decode()

    def test_on_our_routes_both_kinds_are_mixed(self):
        both = ((b"authorization", b"Bearer " + TOKEN), (b"uaix-credential", TOKEN))
        assert refused(*both, own_route=True).code == "mixed_credentials"

    @pytest.mark.parametrize("value", [b"Basic dTpw", b"Bearer", b"Bearer a b", b"", b"Bearer a,b", TOKEN])
    def test_a_credential_of_another_form_is_never_anonymous(self, value):
        assert refused((b"authorization", value), own_route=True).code == "credentials_invalid"

    def test_two_authorizations_are_malformed(self):
        twice = [(b"authorization", b"Bearer " + TOKEN)] * 2
        assert refused(*twice, own_route=True).code == "header_malformed"
