import pytest

from negotiator.errors import RequestError
from negotiator.web.framing import check_host, check_lengths, check_override, check_write, override_pattern
from tests.support.asgi import http_scope


def code_of(check, *arguments):
    with pytest.raises(RequestError) as caught:
        check(*arguments)
    return caught.value.code


def host(*values):
    return http_scope("GET", "/", *((b"host", value) for value in values))


@pytest.mark.parametrize(
    "value", [b"localhost", b"LOCALHOST:1", b"127.0.0.1", b"127.0.0.1:65535", b"[::1]", b"[::1]:8000"]
)
def test_without_a_list_loopback_names_are_served(value):
    check_host(host(value), ())


@pytest.mark.parametrize(
    "value", [b"example.org", b"127.0.0.1.example.org", b"testserver", b"localhost.", b"127.0.0.2", b"[::2]"]
)
def test_without_a_list_nothing_else_is(value):
    assert code_of(check_host, host(value), ()) == "misdirected_host"


@pytest.mark.parametrize(
    ("allowed", "value"),
    [
        ("example.org", b"example.org"),
        ("Example.org", b"EXAMPLE.ORG:8443"),
        ("example.org:8443", b"example.org:8443"),
        ("*.example.org", b"a.example.org"),
        ("*.example.org", b"a.b.example.org:1"),
        ("[2001:db8::1]", b"[2001:db8::1]:443"),
    ],
)
def test_listed_authorities_are_served(allowed, value):
    check_host(host(value), ("other.example", allowed))


@pytest.mark.parametrize(
    ("allowed", "value"),
    [
        ("example.org", b"example.com"),
        ("example.org", b"example.org.evil.example"),
        ("example.org", b"notexample.org"),
        ("example.org:8443", b"example.org"),
        ("example.org:8443", b"example.org:443"),
        ("*.example.org", b"example.org"),
        ("*.example.org", b".example.org"),
        ("*.example.org", b"badexample.org"),
        ("example.org", b"localhost"),
        ("*", b"example.org"),
    ],
)
def test_other_authorities_are_misdirected(allowed, value):
    assert code_of(check_host, host(value), (allowed,)) == "misdirected_host"


@pytest.mark.parametrize(
    "values",
    [
        (b"",),
        (b"localhost", b"localhost"),
        (b"localhost, localhost",),
        (b"user@localhost",),
        (b"localhost/",),
        (b"localhost:port",),
        (b"local host",),
        (b"localhost:",),
        (b"::1",),
    ],
)
def test_a_missing_repeated_or_odd_host_is_malformed(values):
    assert code_of(check_host, host(*values), ()) == "header_malformed"


def test_no_host_is_malformed():
    scope = http_scope("GET", "/")
    scope["headers"] = []
    assert code_of(check_host, scope, ()) == "header_malformed"


@pytest.mark.parametrize(
    "headers",
    [
        [(b"content-length", b"1"), (b"content-length", b"1")],
        [(b"Content-Length", b"1"), (b"content-length", b"2")],
        [(b"content-length", b"1"), (b"transfer-encoding", b"chunked")],
        [(b"content-length", b"")],
        [(b"content-length", b"+1")],
        [(b"content-length", b"-1")],
        [(b"content-length", b"1,1")],
        [(b"content-length", b"0x1")],
        [(b"content-length", b"9" * 19)],
    ],
)
def test_an_unclear_length_is_malformed(headers):
    assert code_of(check_lengths, http_scope("POST", "/", *headers)) == "header_malformed"


@pytest.mark.parametrize("headers", [[], [(b"content-length", b"7")], [(b"transfer-encoding", b"chunked")]])
def test_one_length_is_fine(headers):
    check_lengths(http_scope("POST", "/", *headers))


@pytest.mark.parametrize(
    "headers",
    [[(b"trailer", b"x-sum")], [(b"content-type", b"text/plain"), (b"content-type", b"application/json")]],
)
def test_a_write_has_no_trailers_and_one_type(headers):
    assert code_of(check_write, http_scope("POST", "/", *headers)) == "header_malformed"
    check_write(http_scope("POST", "/", (b"content-type", b"text/plain")))


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/", [(b"x-http-method-override", b"DELETE")]),
        ("/", [(b"X-HTTP-Method", b"DELETE")]),
        ("/", [(b"x-method-override", b"")]),
        ("/?_method=DELETE", []),
        ("/?a=1&_method=DELETE", []),
        ("/?a=1;_METHOD=DELETE", []),
        ("/?_method", []),
        ("/?%5fmethod=DELETE", []),
        ("/?_%6D%65thod=DELETE", []),
        ("/?_method[]=DELETE", []),
        ("/?_method%5B%5D=DELETE", []),
    ],
)
def test_a_method_override_is_refused(target, headers):
    assert code_of(check_override, http_scope("POST", target, *headers)) == "method_override"


@pytest.mark.parametrize("target", ["/", "/?method=DELETE", "/?_methodology=1", "/?a=_method", "/?x_method=1"])
def test_no_override_is_none(target):
    check_override(http_scope("POST", target))


@pytest.mark.parametrize(
    ("content_type", "content", "found"),
    [
        ("application/x-www-form-urlencoded", b"a=1&_method=DELETE", True),
        ("Application/X-WWW-Form-Urlencoded; charset=utf-8", b"%5Fmethod=DELETE", True),
        ("application/x-www-form-urlencoded", b"a=_method", False),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="_method"\r\n', True),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data; NAME=_method\r\n", True),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="text"\r\n', False),
    ],
)
def test_an_override_in_a_form_is_found(content_type, content, found):
    assert (override_pattern(content_type).search(content) is not None) is found


def test_other_bodies_have_no_override():
    assert override_pattern("application/json") is None
    assert override_pattern("") is None
