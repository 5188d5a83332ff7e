"""Configuration refuses what it does not understand, and says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from negotiator.config import RouteSettings, Settings, UnmatchedSettings
from negotiator.config.settings import _PATH_KEYS
from negotiator.errors import ConfigError

GOOD = """\
project = "gazette"
database = "sqlite:///data/n.db"
keys_dir = "keys"

[unmatched]
unsafe = "deny_unknown"

[[routes]]
match = "POST /comments"
action = "post"
resource = "Com ments_X"

[[routes]]
match = "GET,HEAD /comments"
action = "read_static"
resource = "comments"
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "negotiator.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_file_becomes_settings(tmp_path: Path) -> None:
    settings = Settings.load(write(tmp_path, GOOD))
    assert settings.project == "gazette"
    assert settings.database == f"sqlite:///{tmp_path / 'data' / 'n.db'}"
    assert settings.keys_dir == tmp_path / "keys"
    assert settings.unmatched_rules.unsafe == "deny_unknown"
    assert [rule.label for rule in settings.rules] == ["POST /comments", "GET,HEAD /comments"]


def test_names_are_normalised_once(tmp_path: Path) -> None:
    text = GOOD.replace("Com ments_X", "Ｃｏｍｍｅｎｔｓ ")
    assert Settings.load(write(tmp_path, text)).rules[0].resource.name == "comments"


@pytest.mark.parametrize(
    ("action", "undeclared"),
    [("read_static", "limited"), ("render_ui", "limited"), ("post", "deny"), ("write_memory", "deny")],
)
def test_undeclared_has_the_safe_default_of_its_action(action: str, undeclared: str) -> None:
    route = {"match": "PUT /x", "action": action, "resource": "x"}
    assert Settings.model_validate({"routes": [route]}).rules[0].undeclared == undeclared


@pytest.mark.parametrize(
    ("line", "changed", "words"),
    [
        (1, 'projct = "gazette"', "projct: unknown key; did you mean project"),
        (2, 'Database = "x"', "Database: unknown key; did you mean database"),
        (6, 'unsafe = "deny_agent"', "unmatched.unsafe: input should be"),
        (9, 'match = "POST comments"', "routes[0].match: write METHOD /path"),
        (10, 'action = "psot"', "routes[0].action: input should be"),
        (11, "resource = 7", "routes[0].resource: input should be a valid string"),
        (11, 'resource = "-_-"', "routes[0].resource: write a name with letters or digits"),
        (11, 'resource = "x"\nundeclard = "pass"', "routes[0].undeclard: unknown key; did you mean undeclared"),
        (1, 'prefix = "uaix"', "prefix: write a path"),
        (1, 'public_url = "http://example.org"', "public_url: use https"),
        (1, 'public_url = "https://example.org/site"', "public_url: write an origin"),
        (1, 'project = "../x"', "project: string should match pattern"),
        (1, "token_lifetime_seconds = 86400", "token_lifetime_seconds: input should be less than or equal to 3600"),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_key(tmp_path: Path, line: int, changed: str, words: str) -> None:
    lines = GOOD.splitlines()
    lines[line - 1] = changed
    file = write(tmp_path, "\n".join(lines))
    with pytest.raises(ConfigError) as caught:
        Settings.load(file)
    assert caught.value.code == "config_invalid"
    at = line + changed.count("\n")
    assert f"{file}, line {at}: {words}" in caught.value.message


def test_two_routes_for_one_request_refuse(tmp_path: Path) -> None:
    text = GOOD.replace("GET,HEAD /comments", "POST /comments")
    with pytest.raises(ConfigError, match="two routes match 'POST /comments'"):
        Settings.load(write(tmp_path, text))


def test_pass_on_a_weighty_route_needs_a_reason() -> None:
    route = {"match": "POST /x", "action": "post", "resource": "x", "undeclared": "pass"}
    with pytest.raises(ValueError, match="needs undeclared_reason"):
        Settings.model_validate({"routes": [route]})
    reasoned = Settings.model_validate({"routes": [route | {"undeclared_reason": "a public form"}]})
    assert reasoned.rules[0].undeclared == "pass"


def test_a_file_that_is_no_toml_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as broken:
        Settings.load(write(tmp_path, "project = = 1"))
    assert broken.value.code == "config_unparsable"
    assert "line 1" in broken.value.message
    with pytest.raises(ConfigError) as missing:
        Settings.load(tmp_path / "none.toml")
    assert missing.value.code == "config_unreadable"


def test_environment_overrides_and_names_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD)
    environment = {
        "NEGOTIATOR_CONFIG": str(file),
        "NEGOTIATOR_PROJECT": "other",
        "NEGOTIATOR_ALLOWED_HOSTS": "a.example, b.example",
        "NEGOTIATOR_TOKEN_LIFETIME_SECONDS": "120",
        "PATH": "ignored",
    }
    settings = Settings.load(None, environment)
    assert (settings.project, settings.token_lifetime_seconds) == ("other", 120)
    assert settings.allowed_hosts == ("a.example", "b.example")


@pytest.mark.parametrize(
    "variable", ["NEGOTIATOR_PROJCT", "NEGOTIATOR_ROUTES", "NEGOTIATOR_project", "NEGOTIATOR_TOKEN_LIFETIME"]
)
def test_a_misspelt_environment_variable_refuses(variable: str) -> None:
    with pytest.raises(ConfigError, match=f"'{variable}' is not a setting"):
        Settings.load(None, {variable: "x"})


def test_the_public_host_is_always_allowed() -> None:
    settings = Settings(public_url="https://example.org", allowed_hosts=("www.example.org",))
    assert settings.hosts == ("example.org", "www.example.org")
    assert settings.audience == "https://example.org"
    assert Settings().audience == "http://localhost"


def misspelt() -> list[tuple[str, str]]:
    top = [("", name) for name in Settings.model_fields if name not in {"routes", "unmatched"}]
    return [
        *top,
        *(("[unmatched]", name) for name in UnmatchedSettings.model_fields),
        *(("[[routes]]", name) for name in RouteSettings.model_fields),
    ]


@pytest.mark.parametrize(("table", "name"), misspelt())
def test_every_key_misspelt_refuses_with_its_line(tmp_path: Path, table: str, name: str) -> None:
    lines = ["", table, f"{name}x = 1"]
    with pytest.raises(ConfigError) as caught:
        Settings.load(write(tmp_path, "\n".join(lines)))
    assert "line 3: " in caught.value.message
    assert f"{name}x: unknown key; did you mean {name}" in caught.value.message


@pytest.mark.parametrize(
    ("route", "opens"),
    [
        ({"action": "read_json"}, "connect"),
        ({"action": "read_json", "websocket": "deny"}, "deny"),
        ({"action": "run_task"}, "deny"),
        ({"action": "run_task", "websocket": "connect"}, "connect"),
    ],
)
def test_sockets_open_by_default_for_reading_only(route, opens):
    settings = RouteSettings.model_validate({"match": "GET /live", "resource": "live"} | route)
    assert settings.rule().websocket == opens


@pytest.mark.parametrize(
    ("action", "value", "words"),
    [
        ("run_task", "message", "comes in a later version; write connect or deny"),
        ("write_memory", "connect", "no socket can be opened on it"),
        ("run_task", "Connect", "'deny' or 'connect'"),
    ],
)
def test_a_socket_that_cannot_be_governed_so_refuses_to_load(tmp_path, action, value, words):
    file = tmp_path / "negotiator.toml"
    file.write_text(
        f'[[routes]]\nmatch = "GET /live"\naction = "{action}"\nresource = "live"\nwebsocket = "{value}"\n',
        encoding="utf-8",
    )
    with pytest.raises(ConfigError) as caught:
        Settings.load(file)
    assert (caught.value.code, words in caught.value.message) == ("config_invalid", True)


@pytest.mark.parametrize(
    ("text", "flag"), [("true", True), ("1", True), ("True", True), ("false", False), ("0", False)]
)
def test_a_flag_in_the_environment(text: str, flag: bool) -> None:
    settings = Settings.load(None, {"NEGOTIATOR_ACCESS_LOG": text, "NEGOTIATOR_ROOT_ALIASES": text})
    assert (settings.access_log, settings.root_aliases) == (flag, flag)


@pytest.mark.parametrize("text", ["", "yes", "on", "2", "truth", " true"])
def test_what_is_no_flag_refuses(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.load(None, {"NEGOTIATOR_ACCESS_LOG": text})
    assert "access_log: input should be a valid boolean" in caught.value.message


def test_paths_in_the_environment_are_paths_and_relative_to_the_working_directory(tmp_path: Path) -> None:
    variables = {f"NEGOTIATOR_{key.upper()}": f"some/{key}" for key in _PATH_KEYS}
    settings = Settings.load(write(tmp_path, GOOD), variables)
    assert {key: getattr(settings, key) for key in _PATH_KEYS} == {key: Path(f"some/{key}") for key in _PATH_KEYS}


def test_an_empty_path_in_the_environment_is_the_default(tmp_path: Path) -> None:
    text = f'policies_dir = "p"\nkill_switch = "k"\n{GOOD}'
    settings = Settings.load(write(tmp_path, text), {f"NEGOTIATOR_{key.upper()}": "" for key in _PATH_KEYS})
    assert {key: getattr(settings, key) for key in _PATH_KEYS} == {key: getattr(Settings(), key) for key in _PATH_KEYS}


def test_every_path_is_known_as_one() -> None:
    assert set(_PATH_KEYS) == {
        k for k, field in Settings.model_fields.items() if field.annotation in (Path, Path | None)
    }
