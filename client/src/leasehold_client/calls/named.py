"""Finding a thing by the name or id that a person gives."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from leasehold_client.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable


def one_named(noun: str, name: str, known: Iterable[tuple[str, str]]) -> str:
    """Return the id of the only thing with this name or id; `known` are pairs of id and name.

    Raises NotFoundError if there is none, or if several have the name and none has it as id.
    """
    pairs = list(known)
    ids = [ident for ident, _ in pairs if ident == name] or [ident for ident, called in pairs if called == name]
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise NotFoundError(f"{len(ids)} {noun}s are named {name!r}. Name one by its id: {', '.join(ids)}.")
    raise NotFoundError(f"There is no {noun} with the name or id {name!r} among those that you may see.")


def is_id(text: str) -> bool:
    """Say whether a text has the form of an id, so that no list is needed to find what it names."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
