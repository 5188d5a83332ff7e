"""Configuration: `negotiator.toml` and environment variables, as frozen `Settings`.

Rules:

- An unknown key, a wrong type or a misspelt value refuses to start, naming file, line and key. Nothing is guessed and
  nothing has a laxer reading.
- `NEGOTIATOR_<KEY>` overrides a top-level scalar or list of strings; an unknown `NEGOTIATOR_…` variable refuses, too.
- Relative paths are relative to the file that names them; without a file, to the working directory.
- Names of resources are normalised here, once (`model/names.py`).

It does not open, make or check anything on disk but the file itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from negotiator.config.toml_lines import line_of
from negotiator.errors import ConfigError, quoted
from negotiator.model.actions import MEMORY_ACTIONS, READ_ACTIONS, WRITE_LIKE_ACTIONS, AgentAction
from negotiator.model.budgets import BUDGETS, Limits
from negotiator.model.facts import ResourceFacts
from negotiator.model.names import normalised_name
from negotiator.model.routes import (
    CacheRule,
    Mode,
    RouteRule,
    UndeclaredRule,
    UnmatchedRules,
    UnmatchedSafe,
    UnmatchedUnsafe,
    WebSocketRule,
)

__all__ = ["BudgetSettings", "RouteSettings", "Settings", "UnmatchedSettings"]

_HEADER = re.compile(r"(?!(?i:uaix-|authorization$|cookie$|idempotency-key$))[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "*"})
_ENVIRONMENT_PREFIX = "NEGOTIATOR_"
_ENVIRONMENT_CONFIG = "NEGOTIATOR_CONFIG"

_PATH_KEYS = ("keys_dir", "policies_dir", "kill_switch", "operator_token_file")

Name = Annotated[str, Field(min_length=1, max_length=256)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RouteSettings(_Strict):
    """One `[[routes]]` table; see `RouteRule` for what the keys mean."""

    match: str = Field(max_length=1024)
    action: AgentAction
    resource: Name
    kind: str = Field(default="", max_length=64)
    public: bool = False
    two_person: bool = False
    protected: bool = False
    undeclared: UndeclaredRule | None = None
    undeclared_reason: str = ""
    stream_body: bool = False
    max_body_bytes: int = Field(default=1_048_576, ge=0, le=1_073_741_824)
    cache: CacheRule = "private"
    publish: bool = False
    mode: Mode | None = None
    websocket: WebSocketRule | None = None
    auto_request: bool = False
    bind_headers: tuple[str, ...] = ()

    @field_validator("bind_headers", mode="before")
    @classmethod
    def _header_names(cls, value: object) -> object:
        names = tuple(value) if isinstance(value, list) else value
        if isinstance(names, tuple) and not all(isinstance(name, str) and _HEADER.fullmatch(name) for name in names):
            message = "write names of request headers, e.g. x-tenant; credentials and uaix-… are never among them"
            raise ValueError(message)
        return tuple(name.lower() for name in names) if isinstance(names, tuple) else names

    @field_validator("resource")
    @classmethod
    def _resource_has_a_name(cls, value: str) -> str:
        if not normalised_name(value):
            message = "write a name with letters or digits, e.g. comments"
            raise ValueError(message)
        return value

    @field_validator("match")
    @classmethod
    def _match_has_two_parts(cls, value: str) -> str:
        methods, _, path = value.partition(" ")
        unknown = set(methods.split(",")) - _METHODS
        if unknown or not path.startswith("/") or path != path.strip():
            message = "write METHOD /path, e.g. POST /comments; * is any method"
            raise ValueError(message)
        return value

    @field_validator("websocket", mode="before")
    @classmethod
    def _sockets_are_decided_once(cls, value: object) -> object:
        if value == "message":
            message = "a decision for each message of a socket comes in a later version; write connect or deny"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _pass_says_why(self) -> Self:
        weighty = self.action in WRITE_LIKE_ACTIONS or self.action in MEMORY_ACTIONS
        if self.undeclared == "pass" and weighty and not self.undeclared_reason.strip():
            message = f'undeclared = "pass" on an action such as {self.action} needs undeclared_reason'
            raise ValueError(message)
        if self.stream_body and self.action in MEMORY_ACTIONS:
            message = "a memory route is held as a proposal, so its body cannot be streamed"
            raise ValueError(message)
        if self.websocket == "connect" and self.action in MEMORY_ACTIONS:
            message = "a memory route is held as a proposal, so no socket can be opened on it"
            raise ValueError(message)
        return self

    def rule(self, *, mode: Mode = "enforce") -> RouteRule:
        """Return the rule that this table describes; `mode` is the site's, where the table names none."""
        methods, _, path = self.match.partition(" ")
        limited_by_default = self.action in READ_ACTIONS or self.action == "render_ui"
        return RouteRule(
            methods=frozenset() if "*" in methods else frozenset(methods.split(",")),
            path=path,
            action=self.action,
            resource=ResourceFacts(
                type="Tool" if self.action == "call_tool" else "Resource",
                name=normalised_name(self.resource),
                kind=self.kind,
                public=self.public,
                two_person=self.two_person,
                protected=self.protected,
            ),
            undeclared=self.undeclared or ("limited" if limited_by_default else "deny"),
            stream_body=self.stream_body,
            max_body_bytes=self.max_body_bytes,
            cache=self.cache,
            publish=self.publish,
            mode=self.mode or mode,
            websocket=self.websocket or ("connect" if self.action in READ_ACTIONS else "deny"),
            auto_request=self.auto_request,
            bind_headers=self.bind_headers,
        )


class UnmatchedSettings(_Strict):
    """The `[unmatched]` table."""

    safe: UnmatchedSafe = "pass"
    unsafe: UnmatchedUnsafe = "deny_agents"


def _budget(name: str) -> Any:  # noqa: ANN401 - as `Field` has it
    row = BUDGETS[name]
    return Field(default=row.default, ge=row.least)


class BudgetSettings(_Strict):
    """The `[budgets]` table; `model.budgets` says what each key means."""

    declarations_per_source_and_minute: int = _budget("declarations_per_source_and_minute")
    declarations_per_second: int = _budget("declarations_per_second")
    declarations_per_agent_and_minute: int = _budget("declarations_per_agent_and_minute")
    negotiations_per_agent: int = _budget("negotiations_per_agent")
    waiting_declarations: int = _budget("waiting_declarations")
    requests_per_source_and_minute: int = _budget("requests_per_source_and_minute")
    requests_per_agent_and_minute: int = _budget("requests_per_agent_and_minute")
    refusals_per_source_and_minute: int = _budget("refusals_per_source_and_minute")
    open_tasks_per_agent: int = _budget("open_tasks_per_agent")
    evidence_per_agent: int = _budget("evidence_per_agent")
    evidence_mebibytes_per_agent: int = _budget("evidence_mebibytes_per_agent")
    negotiations_kept_days: int = _budget("negotiations_kept_days")
    free_mebibytes: int = _budget("free_mebibytes")


class Settings(_Strict):
    """Everything that an operator can set.

    Attributes:
        project: the project that this site's entries belong to.
        prefix: where our own routes live.
        public_url: origin of the site, e.g. `https://example.org`; unset means loopback only.
        allowed_hosts: authorities that requests may name; with `public_url` its host is always among them.
        database: SQLAlchemy URL.
        keys_dir: folder of key files, outside the database's folder.
        policies_dir: folder of policies; unset means the shipped ones.
        mode: `shadow` records what would have been denied and lets the site have it; each route may say otherwise.
        kill_switch: while this file exists, no agent's governed request is let through.
        operator_token_file: holds the token with which `metrics` and details of `readyz` answer beyond loopback.
        token_lifetime_seconds: how long a negotiation holds, at most an hour.
        max_message_bytes: larger messages are 413.
        max_evidence_bytes: larger evidence is 413.
        task_lifetime_days: how far ahead the expiry of a task may lie.
        effect_lease_seconds: how long an effect stands without a sign of life of its process before it is ended.
        trusted_proxies: networks of the proxies in front of us; their `X-Forwarded-For` tells where requests come from.
        key_lifetime_hours: how long an idempotency key and the answer behind it are kept.
        max_stored_answer_bytes: larger answers are not kept for their key.
        consent_lifetime_seconds: how long a consent request waits for a human.
        approval_lifetime_seconds: how long an approval holds at most.
        consent_cooldown_seconds: how long a denial keeps the agent from asking for the same again.
        consents_pending_per_agent: consent requests of one agent that may wait.
        consents_pending: consent requests that may wait in all.
        root_aliases: whether `/healthz` and its like are answered at the site's root, too.
        log_format: how `negotiator serve` writes its log.
        access_log: whether it logs each request, too.
    """

    project: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")] = "default"
    prefix: str = "/uaix/v1"
    public_url: str = ""
    allowed_hosts: tuple[str, ...] = ()
    database: str = "sqlite:///var/data/negotiator.db"
    keys_dir: Path = Path("var/keys")
    policies_dir: Path | None = None
    mode: Mode = "enforce"
    kill_switch: Path = Path("var/kill-switch")
    operator_token_file: Path | None = None
    token_lifetime_seconds: int = Field(default=3600, ge=60, le=3600)
    max_message_bytes: int = Field(default=65_536, ge=1024, le=262_144)
    max_evidence_bytes: int = Field(default=262_144, ge=1024, le=1_048_576)
    task_lifetime_days: int = Field(default=7, ge=1, le=366)
    effect_lease_seconds: int = Field(default=30, ge=3, le=600)
    trusted_proxies: tuple[str, ...] = ()
    key_lifetime_hours: int = Field(default=24, ge=1, le=8760)
    max_stored_answer_bytes: int = Field(default=65_536, ge=0, le=16_777_216)
    consent_lifetime_seconds: int = Field(default=3600, ge=10, le=604_800)
    approval_lifetime_seconds: int = Field(default=900, ge=10, le=86_400)
    consent_cooldown_seconds: int = Field(default=600, ge=0, le=604_800)
    consents_pending_per_agent: int = Field(default=5, ge=1)
    consents_pending: int = Field(default=100, ge=1)
    root_aliases: bool = False
    log_format: Literal["text", "json"] = "text"
    access_log: bool = False
    routes: tuple[RouteSettings, ...] = ()
    unmatched: UnmatchedSettings = UnmatchedSettings()
    budgets: BudgetSettings = BudgetSettings()

    @field_validator("allowed_hosts", "trusted_proxies", "routes", mode="before")
    @classmethod
    def _list_as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator(*_PATH_KEYS, mode="before")
    @classmethod
    def _text_as_path(cls, value: object) -> object:
        return Path(value) if isinstance(value, str) and value else value

    @field_validator("trusted_proxies")
    @classmethod
    def _proxies_are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            try:
                ip_network(network)
            except ValueError:
                message = f"{quoted(network)} is no address and no network; write for instance 127.0.0.1 or 10.0.0.0/8"
                raise ValueError(message) from None
        return value

    @field_validator("prefix")
    @classmethod
    def _prefix_is_a_plain_path(cls, value: str) -> str:
        if not value.startswith("/") or value.endswith("/") or not value.replace("/", "").replace("-", "").isalnum():
            message = "write a path of letters, digits and hyphens such as /uaix/v1, without a slash at its end"
            raise ValueError(message)
        return value

    @field_validator("public_url")
    @classmethod
    def _public_url_is_an_origin(cls, value: str) -> str:
        if not value:
            return value
        parts = urlsplit(value)
        if parts.path or parts.query or parts.fragment or parts.username or not parts.hostname:
            message = "write an origin such as https://example.org, without a path"
            raise ValueError(message)
        if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts.hostname)):
            message = "use https; http is for loopback only"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _routes_are_distinct(self) -> Self:
        seen: set[tuple[str, str]] = set()
        for route in self.routes:
            methods, _, path = route.match.partition(" ")
            for key in ((method, path) for method in methods.split(",")):
                if key in seen:
                    message = f"two routes match {quoted(' '.join(key))}; keep one"
                    raise ValueError(message)
                seen.add(key)
        return self

    @classmethod
    def load(cls, path: Path | str | None = None, environment: Mapping[str, str] | None = None) -> Settings:
        """Read settings from `path` and from `environment` (name to value).

        Args:
            path: the TOML file; None means no file, unless `NEGOTIATOR_CONFIG` names one.
            environment: usually `os.environ`; None means none.

        Raises:
            ConfigError: `config_unreadable`, `config_unparsable`, `config_invalid`.
        """
        variables = {k: v for k, v in (environment or {}).items() if k.startswith(_ENVIRONMENT_PREFIX)}
        named = variables.pop(_ENVIRONMENT_CONFIG, "")
        file = Path(path or named) if path or named else None
        text = _read(file) if file else ""
        values = _parse(text, file)
        if file:
            _anchor_paths(values, file.parent)
        values |= _from_environment(variables)
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise _config_error(error, text=text, file=file) from None

    @property
    def rules(self) -> tuple[RouteRule, ...]:
        """The route rules, in the order of the file."""
        return tuple(route.rule(mode=self.mode) for route in self.routes)

    @property
    def unmatched_rules(self) -> UnmatchedRules:
        """What happens to requests that no rule matches."""
        return UnmatchedRules(safe=self.unmatched.safe, unsafe=self.unmatched.unsafe)

    @property
    def limits(self) -> Limits:
        """The budgets."""
        return Limits(**self.budgets.model_dump())

    @property
    def hosts(self) -> tuple[str, ...]:
        """The authorities that requests may name: the configured ones and that of `public_url`."""
        own = urlsplit(self.public_url).netloc
        return (own, *(host for host in self.allowed_hosts if host != own)) if own else self.allowed_hosts

    @property
    def audience(self) -> str:
        """`iss` and `aud` of tokens."""
        return self.public_url or "http://localhost"


_TABLES: Mapping[str | int, type[BaseModel]] = {
    "routes": RouteSettings,
    "unmatched": UnmatchedSettings,
    "budgets": BudgetSettings,
}
_LIST_KEYS = frozenset({"allowed_hosts", "trusted_proxies"})
_NUMBER_KEYS = frozenset(name for name, field in Settings.model_fields.items() if field.annotation is int)
_FLAG_KEYS = frozenset(name for name, field in Settings.model_fields.items() if field.annotation is bool)
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_TABLE_KEYS = frozenset(map(str, _TABLES))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read {file}: {error}"
        raise ConfigError(message, code="config_unreadable") from None


def _parse(text: str, file: Path | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = f"{file}: {error}"
        raise ConfigError(message, code="config_unparsable") from None


def _anchor_paths(values: dict[str, Any], folder: Path) -> None:
    """Make relative paths of a file relative to its folder."""
    for key in _PATH_KEYS:
        if isinstance(values.get(key), str):
            values[key] = folder / values[key]
    scheme, separator, location = str(values.get("database", "")).partition(":///")
    if separator and scheme.startswith("sqlite") and location and not location.startswith("/"):
        values["database"] = f"{scheme}:///{(folder / location).resolve()}"


def _from_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings that environment variables name."""
    values: dict[str, Any] = {}
    for variable, text in variables.items():
        key = variable.removeprefix(_ENVIRONMENT_PREFIX).lower()
        if key not in Settings.model_fields or key in _TABLE_KEYS or variable != variable.upper():
            message = f"environment variable {quoted(variable)} is not a setting{_hint(key, Settings.model_fields)}"
            raise ConfigError(message, code="config_invalid")
        if key in _LIST_KEYS:
            values[key] = [part.strip() for part in text.split(",") if part.strip()]
        elif key in _NUMBER_KEYS and text.isascii() and text.isdigit():
            values[key] = int(text)
        elif key in _FLAG_KEYS:
            values[key] = _FLAGS.get(text.lower(), text)
        elif key in _PATH_KEYS:
            values[key] = text or Settings.model_fields[key].default
        else:
            values[key] = text
    return values


def _hint(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}" if close else ""


def _config_error(error: ValidationError, *, text: str, file: Path | None) -> ConfigError:
    """Word the first few complaints of pydantic, each with its place."""
    complaints = [_complaint(item, text=text, file=file) for item in error.errors(include_url=False)[:5]]
    return ConfigError("; ".join(complaints), code="config_invalid")


def _complaint(item: Any, *, text: str, file: Path | None) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    location: tuple[str | int, ...] = item["loc"]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    line = line_of(text, location)
    place = f"{file}, line {line}: " if file and line else (f"{file}: " if file else "")
    if item["type"] == "extra_forbidden":
        known = _TABLES.get(location[0] if len(location) > 1 else "", Settings).model_fields
        return f"{place}{key}: unknown key{_hint(str(location[-1]), known)}"
    words = str(item["msg"]).removeprefix("Value error, ")
    given = item.get("input")
    shown = f" (got {quoted(given)})" if isinstance(given, str | int | float | bool) else ""
    return f"{place}{key or 'settings'}: {words[:1].lower()}{words[1:]}{shown}"
