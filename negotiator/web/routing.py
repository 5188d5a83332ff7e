"""The route table: which rule a request falls under, whatever the site makes of its path.

Rules:

- Rules are tried in configuration order; the first that covers the method and matches the path wins. A rule for GET
  also covers HEAD, a rule without methods covers all.
- A rule also matches with a slash more or less at the end, since sites redirect or serve the twin. A later rule
  that spells that very path out wins over the twin.
- If any other reading of the path (`paths.readings`, also without regard to case) falls under another rule than the
  path itself, it is ambiguous: refused, never guessed. Spellings that no honest client uses are refused wherever a
  rule's fixed beginning or any of its readings is touched.
- A path that touches no rule under any reading is left alone.
- What is found is a pure function of (method, path, raw path, root path), so it may be kept; the cache is bounded.

It does not look at headers, bodies or callers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from starlette.routing import compile_path
from starlette.types import Scope

from negotiator.model.facts import ResourceFacts
from negotiator.model.routes import RouteRule, UnmatchedRules
from negotiator.web.paths import (
    MAX_ODD_PATH,
    is_odd,
    is_refused_on_governed,
    other_route_paths,
    readings,
    route_path,
)

__all__ = [
    "PASS",
    "SAFE_METHODS",
    "Ambiguous",
    "Beside",
    "Found",
    "Governs",
    "Own",
    "Passes",
    "RouteTable",
    "Unmatched",
]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that `unmatched.safe` speaks of; every other one is `unmatched.unsafe`'s."""

_CACHED_KEYS = 4096
_CACHED_KEY_LENGTH = 1024


@dataclass(frozen=True, slots=True)
class Passes:
    """Goes to the site untouched."""


@dataclass(frozen=True, slots=True)
class Own:
    """Is one of our own paths."""


@dataclass(frozen=True, slots=True)
class Governs:
    """Falls under `rule`."""

    rule: RouteRule


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """May be read so that it falls under `rule`, or otherwise: refused."""

    rule: RouteRule


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Has no rule and an unsafe method: the caller's class decides. `rule` stands in for the one that is missing."""

    rule: RouteRule
    neighbour: RouteRule | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """Passes, but `neighbour` governs another method of the path: no method override may reach it."""

    neighbour: RouteRule


Found: TypeAlias = Passes | Own | Governs | Ambiguous | Unmatched | Beside
"""What the table says of a request."""

PASS = Passes()
"""The one value for requests that are left alone; compared by identity on the way of every request."""

_OWN = Own()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One rule, compiled. `fixed`: without parameters; `beginning`: the whole segments before the first of them."""

    rule: RouteRule
    exact: re.Pattern[str]
    folded: re.Pattern[str]
    fixed: bool
    beginning: str


def _row(rule: RouteRule) -> _Row:
    exact, _, parameters = compile_path(rule.path)
    beginning = rule.path.partition("{")[0].rpartition("/")[0] if parameters else rule.path.rstrip("/")
    folded = re.compile(exact.pattern, re.IGNORECASE)
    return _Row(rule=rule, exact=exact, folded=folded, fixed=not parameters, beginning=beginning.casefold())


class _Rows:
    """Rules in order, compiled."""

    def __init__(self, rows: Iterable[_Row]) -> None:
        self._rows = tuple(rows)

    def __bool__(self) -> bool:
        return bool(self._rows)

    def first(self, path: str, *, folded: bool = False) -> RouteRule | None:
        """Return the rule that the path, or its twin, falls under."""
        twin = _twin(path)
        by_twin: RouteRule | None = None
        for row in self._rows:
            pattern = row.folded if folded else row.exact
            if pattern.match(path):
                return row.rule if row.fixed or by_twin is None else by_twin
            if by_twin is None and twin and pattern.match(twin):
                by_twin = row.rule
        return by_twin

    def touched(self, paths: Collection[str]) -> list[RouteRule]:
        """Return the rules that the paths fall under without regard to case, in order, once each."""
        wanted = {id(rule) for path in paths for rule in (self.first(path), self.first(path, folded=True))}
        return [row.rule for row in self._rows if id(row.rule) in wanted]

    def below(self, paths: Collection[str]) -> RouteRule | None:
        """Return a rule whose fixed beginning one of the paths starts with, segment by segment."""
        folded = [f"{path.casefold()}/" for path in paths]
        beginnings = ((row.rule, f"{row.beginning}/") for row in self._rows if row.beginning)
        return next((rule for rule, start in beginnings if any(path.startswith(start) for path in folded)), None)


def _twin(path: str) -> str:
    """Source: Starlette's `redirect_slashes`."""
    return path.rstrip("/") if path.endswith("/") else f"{path}/"


def _covers(rule: RouteRule, method: str) -> bool:
    return not rule.methods or method in rule.methods or (method == "HEAD" and "GET" in rule.methods)


def _stand_in(action: str, *, safe: bool) -> RouteRule:
    return RouteRule(
        methods=frozenset(),
        path="/{path:path}",
        action=action,
        resource=ResourceFacts(name="unmatched"),
        undeclared="limited" if safe else "deny",
    )


class RouteTable:
    """The compiled rules.

    Args:
        rules: in configuration order, specific before general.
        unmatched: what happens without a rule.
        prefix: where our own routes live; empty if nowhere.
        own_paths: further exact paths that are ours.
    """

    def __init__(
        self,
        rules: Sequence[RouteRule],
        unmatched: UnmatchedRules,
        *,
        prefix: str = "",
        own_paths: Collection[str] = (),
    ) -> None:
        rows = [_row(rule) for rule in rules]
        methods = {method for rule in rules for method in rule.methods} | SAFE_METHODS
        self._by_method = {name: _Rows(row for row in rows if _covers(row.rule, name)) for name in methods}
        self._any_method = _Rows(row for row in rows if not row.rule.methods)
        self._all = _Rows(rows)
        self._prefix = prefix.rstrip("/")
        self._own_paths = frozenset(own_paths)
        self._without_rule: dict[bool, Passes | Unmatched | Governs] = {
            True: _safe_unmatched(unmatched),
            False: _unsafe_unmatched(unmatched),
        }
        self._cache: dict[tuple[str, str, bytes | None, str | None], Found] = {}

    def find(self, scope: Scope) -> Found:
        """Return what an HTTP request falls under."""
        key = (scope["method"], scope["path"], scope.get("raw_path"), scope.get("root_path"))
        found = self._cache.get(key)
        return found if found is not None else self._keep(key, self._look_up(*key))

    def find_websocket(self, scope: Scope) -> Found:
        """Return what a WebSocket handshake falls under: the rule for GET of its path, else one for any method.

        A socket may carry writes, so without a rule it is treated as unsafe.
        """
        place = scope["path"], scope.get("raw_path"), scope.get("root_path")
        found = self._look_up(None, *place)
        if not isinstance(found, Governs):
            return found
        reading = self._look_up("GET", *place)
        return reading if isinstance(reading, Governs | Ambiguous) else found

    def _keep(self, key: tuple[str, str, bytes | None, str | None], found: Found) -> Found:
        if len(key[0]) + len(key[1]) + len(key[2] or b"") <= _CACHED_KEY_LENGTH:
            if len(self._cache) >= _CACHED_KEYS:
                self._cache.clear()
            self._cache[key] = found
        return found

    def _look_up(self, method: str | None, path: str, raw_path: bytes | None, root_path: str | None) -> Found:
        below = route_path(path, root_path or "")
        if self._is_own(below):
            return _OWN
        raw = below if raw_path is None else route_path(raw_path.decode("latin-1"), root_path or "")
        name = None if method is None else method.upper()
        rows = self._all if name is None else self._by_method.get(name, self._any_method)
        others = other_route_paths(path, root_path or "")
        odd = is_odd(below, raw) or bool(others)
        if odd and len(below) > MAX_ODD_PATH and self._all:
            return Ambiguous(_stand_in("post", safe=False))
        paths = readings(below, raw).union(*(readings(other, raw) for other in others)) if odd else frozenset({below})
        return _governed(rows, below, paths) or self._ungoverned(name, paths)

    def _ungoverned(self, method: str | None, paths: Collection[str]) -> Found:
        without_rule = self._without_rule[method in SAFE_METHODS]
        neighbour = next(iter(self._all.touched(paths)), None)
        if neighbour is None:
            return without_rule
        match without_rule:
            case Passes():
                return Beside(neighbour)
            case Unmatched(rule):
                return Unmatched(rule, neighbour)
            case Governs():
                return without_rule
            case _:
                assert_never(without_rule)

    def _is_own(self, path: str) -> bool:
        if path in self._own_paths:
            return True
        return bool(self._prefix) and (path == self._prefix or path.startswith(f"{self._prefix}/"))


def _governed(rows: _Rows, path: str, paths: Collection[str]) -> Governs | Ambiguous | None:
    """Return the rule of the path, `Ambiguous` where its readings disagree, or None where none touches a rule."""
    literal = rows.first(path)
    touched = rows.touched(paths)
    if is_refused_on_governed(path):
        rule = literal or next(iter(touched), None) or rows.below(paths)
        return Ambiguous(rule) if rule else None
    if not touched:
        return None
    if literal is None or any(rule is not literal for rule in touched):
        return Ambiguous(literal or touched[0])
    return Governs(literal)


def _safe_unmatched(unmatched: UnmatchedRules) -> Passes | Governs:
    return PASS if unmatched.safe == "pass" else Governs(_stand_in("read_static", safe=True))


def _unsafe_unmatched(unmatched: UnmatchedRules) -> Passes | Unmatched | Governs:
    rule = _stand_in("post", safe=False)
    match unmatched.unsafe:
        case "pass":
            return PASS
        case "govern":
            return Governs(rule)
        case "deny_agents" | "deny_unknown":
            return Unmatched(rule)
        case _:
            assert_never(unmatched.unsafe)
