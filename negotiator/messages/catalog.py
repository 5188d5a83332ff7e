"""The catalog: everything published about messages (profiles, ladder, schemas, field orders, examples) as one value.

Rules:

- It is made from documents and checked as a whole: what it names exists, and orders, schemas and levels agree.
- A profile's document says in `body` which schema and which field order its body has; null where none is published.
- The ladder names levels and profiles only; its words are those of the profiles, so that nothing is said twice.

It does not: read files (`shipped` does), or check messages (`codec` and `validation` do).

Source: CAP-02 to CAP-10, CAP-13.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from negotiator.errors import ConfigError, quoted
from negotiator.model.levels import ABILITIES, CAPABILITY_PROFILES, PROFILE_OF_LEVEL

__all__ = ["ENVELOPE", "Catalog", "Document", "FieldOrder", "Profile"]

Document: TypeAlias = "Mapping[str, Any]"

ENVELOPE: Final = "envelope"
"""Name of the schema and of the field order of the message itself."""

_LADDER_MEMBERS = ("title", "summary", "may", "must_not_imply", "fallback", "needs", "evidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldOrder:
    """Where each field stands in a keyless array.

    Attributes:
        name: its name in the registry, e.g. `capability`.
        fields: field names by position.
        min_slots: the shortest array that is read; the longest has one slot for each field.
    """

    name: str
    fields: tuple[str, ...]
    min_slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A known profile.

    Attributes:
        id: e.g. `uai.client.structured-fetch.v1`.
        body: name of the schema of its body; None where any object will do.
        order: the field order of its body; None where its body stays an object in every encoding.
        document: what is published about it.
    """

    id: str
    body: str | None
    order: FieldOrder | None
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Everything published about messages. Make it with `from_documents`.

    Attributes:
        schemas: JSON Schemas (2020-12) by name.
        registry: the field registry as published.
        envelope: the field order of the message itself.
        profiles: known profiles by id.
        ladder: the client ladder as published, L0 first.
        examples: one valid keyed message by profile id, for the profiles that have one.
    """

    schemas: Mapping[str, Document]
    registry: Document
    envelope: FieldOrder
    profiles: Mapping[str, Profile]
    ladder: Document
    examples: Mapping[str, Document]

    @classmethod
    def from_documents(
        cls,
        *,
        schemas: Mapping[str, Document],
        registry: Document,
        profiles: Mapping[str, Document],
        ladder: Document,
        examples: Mapping[str, Document],
    ) -> Catalog:
        """Return the catalog of these documents.

        Args:
            schemas: by name.
            registry: the field registry.
            profiles: by id.
            ladder: levels and their profiles.
            examples: valid examples by name; a profile's document names its own in `example`.

        Raises:
            ConfigError: `catalog_invalid`, where something named is missing or two documents disagree.
        """
        try:
            orders = {name: _order(name, entry) for name, entry in registry["orders"].items()}
            order_of = {of: orders[name] for name, entry in registry["orders"].items() for of in entry["profiles"]}
            catalog = cls(
                schemas=schemas,
                registry=registry,
                envelope=orders[ENVELOPE],
                profiles={name: _profile(name, document, order_of) for name, document in profiles.items()},
                ladder=_told(ladder, profiles),
                examples={
                    name: examples[document["example"]]["message"]
                    for name, document in profiles.items()
                    if document["example"] is not None
                },
            )
        except KeyError as missing:
            message = f"the catalog misses {missing}; restore the shipped profiles and schemas"
            raise ConfigError(message, code="catalog_invalid") from None
        _check_agreement(catalog, orders.values(), set(order_of))
        return catalog


def _order(name: str, entry: Document) -> FieldOrder:
    return FieldOrder(name=name, fields=tuple(entry["ordered_fields"]), min_slots=entry["min_slots"])


def _profile(profile_id: str, document: Document, order_of: Mapping[str, FieldOrder]) -> Profile:
    return Profile(id=profile_id, body=document["body"], order=order_of.get(profile_id), document=document)


def _told(ladder: Document, profiles: Mapping[str, Document]) -> Document:
    """Return the ladder with the words of each level's profile."""
    levels = [
        rung | {member: profiles[rung["profile"]][member] for member in _LADDER_MEMBERS} for rung in ladder["levels"]
    ]
    return {**ladder, "levels": levels}


def _check_agreement(catalog: Catalog, orders: Any, ordered: set[str]) -> None:  # noqa: ANN401 - a dict's values
    """Refuse documents that contradict each other.

    Raises:
        ConfigError: `catalog_invalid`.
    """
    bodies = {profile.body for profile in catalog.profiles.values() if profile.body is not None}
    rungs = [(rung["level"], rung["profile"]) for rung in catalog.ladder["levels"]]
    agreements = {
        "every profile with a field order is known": ordered <= set(catalog.profiles),
        "every body has a schema": bodies <= set(catalog.schemas),
        "every order is that of its schema": all(
            list(order.fields) == list(catalog.schemas[order.name]["properties"]) for order in orders
        ),
        "the ladder has one profile for each level": rungs == [(lv.name, of) for lv, of in PROFILE_OF_LEVEL.items()],
        "the capability profiles share one body": {
            profile.id for profile in catalog.profiles.values() if profile.body == "capability"
        }
        == CAPABILITY_PROFILES,
        "the ten abilities are in the capability body": set(ABILITIES)
        <= set(catalog.schemas["capability"]["properties"]),
    }
    broken = next((claim for claim, holds in agreements.items() if not holds), None)
    if broken is not None:
        message = f"the catalog contradicts itself: not so that {quoted(broken)}; restore the shipped documents"
        raise ConfigError(message, code="catalog_invalid")
