"""Calendar feeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import OwnCollection

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Feed(AnswerModel):
    """Leases for calendar programs; `url` is a secret, and is there only in the answer that made it."""

    id: str
    name: str
    own: bool
    url: str | None
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Feed:
        return read_as(cls, values, url=values.get("url"))


class Feeds(OwnCollection[Feed]):
    """The calendar feeds of the caller's project."""

    PATH, ONE, MANY, NOUN = "/feeds", "feed", "feeds", "feed"
    THING = Feed

    def create(self, name: str, *, own: bool = False) -> Feed:
        """Make a feed of the leases of the project, or with `own` of the caller's in it."""
        return self._create({"name": name, "own": own})
