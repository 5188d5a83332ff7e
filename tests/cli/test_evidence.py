"""`negotiator evidence`, `task` and `parity` on one host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import orjson
import pytest

from negotiator.cli import fetching
from tests.support.evidence import Issuer


def test_an_issuer_is_added_attests_and_is_revoked(run):
    issuer = Issuer()
    Path("key.txt").write_text(f"{issuer.public}\n", encoding="ascii")
    run("agent", "add", "helper")
    [agent] = run("agent", "list", "--json").document
    added = run("evidence", "issuer", "add", "notary", "key.txt", "--kind", "consent_record", "--json").document
    assert (added["key_id"], added["kinds"]) == (issuer.key_id, ["consent_record"])
    Path("record").write_bytes(b"ana consents")
    subject = f"agent:{agent['agent_id']}"
    signature = issuer.attests(b"ana consents", kind="consent_record", about=subject)
    Path("record.jws").write_text(signature, encoding="ascii")
    given = ("evidence", "add", "record", "--kind", "consent_record", "--about", "helper")
    assert run(*given).code == "evidence_never_self"
    link = run(*given, "--attestation", "record.jws", "--json").document
    assert (link["origin"], link["about"], link["issuer_id"]) == ("attested", subject, issuer.key_id)
    assert run("evidence", "list", "--about", "helper", "--json").document == [link]
    shown = run("evidence", "show", link["id"], "--json").document
    assert (shown["bytes"], shown["links"]) == (12, [link])
    assert run("evidence", "issuer", "revoke", "notary").status == 0
    assert "revoked" in run("evidence", "issuer", "list").out
    assert run(*given, "--attestation", "record.jws").code == "attestation_invalid"
    codes = [entry["code"] for entry in run("ledger", "tail", "--json").document]
    assert codes == ["agent_added", "evidence_issuer_added", "evidence_added", "evidence_issuer_revoked"]


@pytest.mark.parametrize(
    "key",
    [
        "",
        "AAAA",
        "x" * 44,
        '{"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"}',
        '{"kty": "OKP"}',
        "[]",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----",
    ],
)
def test_what_is_no_key_is_refused(run, key):
    Path("key.txt").write_text(key, encoding="ascii")
    assert run("evidence", "issuer", "add", "x", "key.txt", "--kind", "provenance").code == "issuer_invalid"


def test_a_private_key_is_refused(run):
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": Issuer().public, "d": "AAAA"}
    Path("key.txt").write_bytes(orjson.dumps(jwk))
    assert run("evidence", "issuer", "add", "x", "key.txt", "--kind", "provenance").code == "issuer_invalid"


def test_what_is_not_there_says_so(run):
    run("agent", "add", "helper")
    Path("x").write_bytes(b"x")
    assert run("evidence", "add", "x", "--kind", "provenance", "--about", "nobody").code == "not_found"
    assert run("evidence", "show", "sha256:0").code == "not_found"
    assert run("evidence", "issuer", "revoke", "nobody").code == "not_found"
    assert run("evidence", "add", "x", "--kind", "gossip", "--about", "helper").status == 2
    assert run("task", "show", "nothing").code == "not_found"
    assert run("task", "list", "--json").document == []
    assert run("task", "list").out == "there are no tasks\n"


# Parity


class Pages(BaseHTTPRequestHandler):
    """Answers by path: a page, its twin, and what may go wrong with either."""

    twin: object = {"text": "what it may do"}

    def do_GET(self) -> None:
        wants_json = self.headers["accept"] == "application/json"
        media = "application/json" if wants_json else "text/html"
        body = orjson.dumps(self.twin) if wants_json else b"<p>what it <b>may</b> do</p>"
        status, more = 200, {}
        match self.path:
            case "/differs":
                body = body if wants_json else b"<p>nothing</p>"
            case "/moved":
                status, more = 302, {"location": "/"}
            case "/large":
                body = b" " * (fetching.MAX_FETCHED_BYTES + 1)
            case "/coded":
                more = {"content-encoding": "gzip"}
            case "/text":
                media = "text/plain"
        self.send_response(status)
        for name, value in {"content-type": media, "content-length": str(len(body)), **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Keep quiet."""


@contextmanager
def pages() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def test_a_parity_record_is_evidence(run):
    run("agent", "add", "helper")
    with pages() as origin:
        record = run("parity", f"{origin}/", "--about", "helper", "--json")
        assert (record.status, record.document["agrees"]) == (0, True)
        differs = run("parity", f"{origin}/differs", "--json")
        assert (differs.status, differs.document["agrees"]) == (1, False)
        assert differs.document["differences"] == [{"pointer": "/text", "value": "what it may do"}]
        assert run("parity", f"{origin}/", "--no-record", "--json").document["evidence_id"] is None
    [other, own] = run("evidence", "list", "--json").document
    assert {own["id"], other["id"]} == {record.document["evidence_id"], differs.document["evidence_id"]}
    assert {own["kind"], own["origin"]} == {"ui_parity", "system"}
    [of_agent] = run("evidence", "list", "--about", "helper", "--json").document
    assert of_agent["id"] == record.document["evidence_id"]


@pytest.mark.parametrize("path", ["/moved", "/large", "/coded", "/text"])
def test_what_cannot_be_compared_is_not(run, path):
    with pages() as origin:
        assert run("parity", f"{origin}{path}", "--no-record").code == "parity_unusable"


def test_only_the_given_origin_is_read(run):
    with pages() as origin, pages() as other:
        assert run("parity", f"{origin}/", "--twin", f"{other}/", "--no-record").code == "parity_unusable"
        assert run("parity", f"{origin}/", "--twin", "/", "--no-record").status == 0


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/", "http://", "nothing", "http://a:b@127.0.0.1/", ""])
def test_what_is_no_address_is_refused(run, url):
    assert run("parity", url, "--no-record").code == "parity_unusable"


def test_a_site_that_is_away_is_no_verdict(run):
    with pages() as origin:
        pass
    gone = run("parity", f"{origin}/", "--no-record")
    assert (gone.status, gone.code) == (3, "parity_unreachable")
