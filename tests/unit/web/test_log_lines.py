"""Log lines: one event is one line of plain characters, and says no more than it was given."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest

from negotiator.web.log_lines import (
    MAX_TEXT_CHARACTERS,
    MAX_TRACE_CHARACTERS,
    LogFormat,
    configure_logs,
    event,
    log_handler,
)

HOSTILE = 'a\nb\r\x00\x1b[2K\x7f\x85\u2028\u202e\u2066\u200b\ud800\U0001f600 "q" \\ x=1'


class Written:
    """A logger of our own that writes one format, and the lines that it wrote."""

    def __init__(self, log_format: LogFormat) -> None:
        self._stream = io.StringIO()
        self.logger = logging.Logger("negotiator.test", logging.DEBUG)  # noqa: LOG001 - a logger of this test alone
        self.logger.addHandler(log_handler(log_format, self._stream))

    @property
    def lines(self) -> list[str]:
        text = self._stream.getvalue()
        assert text.isascii()
        assert all(each == "\n" or each.isprintable() for each in text), repr(text)
        assert text.endswith("\n")
        return text[:-1].split("\n")


@pytest.fixture(params=["text", "json"])
def written(request: pytest.FixtureRequest) -> Written:
    return Written(request.param)


def test_hostile_text_stays_inside_one_line_of_plain_characters(written: Written):
    written.logger.info("said %s", HOSTILE, extra=event(path=HOSTILE))
    assert len(written.lines) == 1


def test_json_gives_the_text_back():
    written = Written("json")
    written.logger.warning("said %s", HOSTILE, extra=event(path=HOSTILE, status=200, absent=""))
    line = json.loads(written.lines[0])
    assert line.pop("time").endswith("Z")
    assert line == {
        "severity": "warning",
        "logger": "negotiator.test",
        "message": f"said {HOSTILE}",
        "path": HOSTILE,
        "status": 200,
    }


@pytest.mark.parametrize("path", ["/a status=200", '/a" status="200', "/a=b", ""])
def test_a_member_in_text_ends_where_it_ends(path: str):
    written = Written("text")
    written.logger.info("request", extra=event(method="GET", path=path, status=404))
    [line] = written.lines
    members = line.partition("request")[2]
    shown = f" path={json.dumps(path)}" if path else ""
    assert members == f" method=GET{shown} status=404"


def test_what_a_record_carries_beside_its_event_is_left_out(written: Written):
    written.logger.info("quiet", extra={"headers": "canary"} | event(status=1))
    assert "canary" not in written.lines[0]


def test_texts_are_bounded(written: Written):
    written.logger.info("x" * 100_000, extra=event(path="/" + "y" * 100_000))
    assert len(written.lines[0]) < 3 * MAX_TEXT_CHARACTERS


def test_a_traceback_makes_no_line_that_looks_like_another_record(written: Written):
    error = ValueError(f"2026-01-01T00:00:00.000000Z info forged\n{HOSTILE}" + "z" * 100_000)
    written.logger.error("failed", exc_info=error)
    first, *others = written.lines
    assert "failed" in first
    assert all(line.startswith("  | ") for line in others)
    assert sum(map(len, written.lines)) < 2 * MAX_TRACE_CHARACTERS


def test_a_record_that_cannot_be_worded_is_a_line_all_the_same(written: Written, capsys: pytest.CaptureFixture[str]):
    written.logger.info("%d of %d", "three")  # noqa: PLE1206 - what is tested
    assert "%d of %d" in written.lines[0]
    assert capsys.readouterr().err == ""


def test_uvicorns_lines_of_sockets_hold_queries_and_are_left_out(written: Written):
    written.logger.name = "uvicorn.error"
    written.logger.info('%s - "WebSocket %s" [accepted]', "192.0.2.7:1", "/live?token=canary")
    written.logger.info("Application startup complete.")
    assert len(written.lines) == 1


@pytest.fixture
def settled_loggers() -> Iterator[None]:
    names = ("", "negotiator", "uvicorn")
    before = {name: logging.getLogger(name).level for name in names}
    handlers = list(logging.getLogger().handlers)
    yield
    logging.getLogger().handlers[:] = handlers
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.usefixtures("settled_loggers")
def test_configuring_twice_writes_each_line_once_and_leaves_others_handlers_alone():
    streams = [io.StringIO(), io.StringIO()]
    other = logging.StreamHandler(sys.stderr)
    logging.getLogger().addHandler(other)
    for stream in streams:
        configure_logs("json", stream)
    logging.getLogger("negotiator.store").info("here")
    logging.getLogger("somebody.else").info("too quiet to be heard")
    logging.getLogger("somebody.else").warning("there")
    assert streams[0].getvalue() == ""
    assert [json.loads(line)["message"] for line in streams[1].getvalue().splitlines()] == ["here", "there"]
    assert other in logging.getLogger().handlers
