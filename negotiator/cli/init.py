"""`negotiator init DIR`: a configuration and the policies, as files to edit."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from negotiator.cli.output import as_json_option, print_json
from negotiator.errors import ConfigError, quoted
from negotiator.shipped import shipped_folder

__all__ = ["command"]

_CONFIGURATION = """\
# The negotiator's configuration. An unknown or misspelt key refuses to start and is named with its line.

project = "default"
prefix = "/uaix/v1"
# public_url = "https://example.org"      # unset: this machine only
# allowed_hosts = ["www.example.org"]
database = "sqlite:///var/data/negotiator.db"
keys_dir = "var/keys"
policies_dir = "policies"
kill_switch = "var/kill-switch"           # while this file exists, no agent is let through

[unmatched]
safe = "pass"                 # GET, HEAD and OPTIONS without a rule go to the site untouched
unsafe = "deny_agents"        # everything else without a rule is refused to agents

# One table for each governed route: METHOD /path, the action that it is, and what it is upon.

[[routes]]
match = "GET /"
action = "read_static"
resource = "pages"
public = true
publish = true                # name it in the discovery documents

[[routes]]
match = "POST /comments"
action = "post"
resource = "comments"
undeclared = "human_only"     # without a declaration: people that the site vouches for, and nobody else
"""


@click.command(name="init")
@click.argument("folder", type=click.Path(path_type=Path))
@as_json_option
def command(folder: Path, *, as_json: bool) -> None:
    """Write a configuration and the shipped policies to FOLDER, for editing. Overwrites nothing."""
    configuration, policies = folder / "negotiator.toml", folder / "policies"
    try:
        _check_free(configuration, policies)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(shipped_folder("policies"), policies)
        configuration.write_text(_CONFIGURATION, encoding="utf-8")
    except (OSError, shutil.Error) as error:
        message = f"cannot write to {quoted(folder)}: {error}"
        raise ConfigError(message, code="folder_unwritable") from None
    if as_json:
        print_json({"configuration": str(configuration), "policies": str(policies)})
        return
    click.echo(f"wrote {configuration} and {policies}")
    click.echo(f"next: negotiator policy check {policies}")
    click.echo(f"      negotiator routes check --config {configuration} --app yourmodule:site")
    click.echo(f"      negotiator serve --config {configuration} --app yourmodule:site")


def _check_free(*paths: Path) -> None:
    """Refuse to overwrite.

    Raises:
        ConfigError: `already_there`.
    """
    for path in paths:
        if path.exists() or path.is_symlink():
            message = f"{quoted(path)} exists already; nothing was written"
            raise ConfigError(message, code="already_there")
