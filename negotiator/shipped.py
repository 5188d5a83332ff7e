"""The data that ships with the package: policies, profiles, schemas. The only reading of files below the services.

Rules:

- In a wheel the data lie in `negotiator/_data`; in a source checkout at the top of the repository, beside the package.
- Everything read is trusted as the package's own code is, and still decoded strictly.

It does not: read what operators edit (the configuration names that), or interpret what it reads.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

from negotiator.canonical import decode_json
from negotiator.errors import ConfigError
from negotiator.messages.catalog import Catalog

__all__ = ["load_catalog", "load_examples", "shipped_folder"]

_PACKAGE = Path(__file__).parent
_PROFILE_PREFIX = "uai."


def shipped_folder(name: Literal["policies", "profiles", "schemas"]) -> Path:
    """Return the folder of shipped data called `name`.

    Raises:
        ConfigError: `shipped_data_missing`, where the installation is not whole.
    """
    for place in (_PACKAGE / "_data", _PACKAGE.parent):
        if (place / name).is_dir():
            return place / name
    message = f"the folder {name} is missing from the installation; install the package again"
    raise ConfigError(message, code="shipped_data_missing")


@cache
def load_catalog() -> Catalog:
    """Return the shipped profiles, ladder, schemas, field registry and examples.

    Raises:
        ConfigError: `shipped_data_missing`, `catalog_invalid`.
    """
    schemas = _documents(shipped_folder("schemas"))
    profiles = _documents(shipped_folder("profiles"))
    return Catalog.from_documents(
        schemas={name: schema for name, schema in schemas.items() if name != "field-registry"},
        registry=schemas["field-registry"],
        profiles={name: profile for name, profile in profiles.items() if name.startswith(_PROFILE_PREFIX)},
        ladder=profiles["ladder"],
        examples=load_examples("valid"),
    )


def load_examples(outcome: Literal["valid", "failing"]) -> dict[str, dict[str, Any]]:
    """Return the shipped examples by name.

    Each is `{title, strict, expect, message}`: `expect` lists the finding codes of severity error that it must give;
    instead of `message` there may be `raw`, a text to send as it is, and `times`, how often to repeat it.
    """
    return _documents(shipped_folder("profiles") / "examples" / outcome)


def _documents(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: _document(path) for path in sorted(folder.glob("*.json"))}


def _document(path: Path) -> dict[str, Any]:
    document = decode_json(path.read_bytes())
    if not isinstance(document, dict):
        message = f"{path.name} in the shipped data is no JSON object; install the package again"
        raise ConfigError(message, code="shipped_data_missing")
    return document
