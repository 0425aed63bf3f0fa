"""Lists of leases, as an API shows them that has shown them before, beside one that has not (decision 0135)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.lease_texts import LeaseTexts
from leasehold.api.versions import MAXIMUM, MINIMUM
from leasehold.api.views.lease import lease_view
from leasehold.leasing.reading.queries import each_text
from leasehold.model.caller import EVERYTHING, NOTHING
from leasehold.model.json_bytes import as_json
from leasehold.model.lease_filter import LeaseFilter

if TYPE_CHECKING:
    from leasehold.api.versions import Version
    from leasehold.model.caller import Sight
    from tests.factory import World

VIEWS = [(MINIMUM, NOTHING), (MAXIMUM, NOTHING), (MAXIMUM, EVERYTHING)]


class Shown:
    """What was shown of leases so far."""

    def __init__(self) -> None:
        self.texts = LeaseTexts()

    def look(self, world: World) -> None:
        """List all leases in several ways, and compare with lists of which nothing is kept."""
        for version, sight in VIEWS:
            for deleted in (False, True):
                again = listed(world, self.texts, version, sight, deleted=deleted)
                assert again == listed(world, LeaseTexts(0), version, sight, deleted=deleted)


def listed(
    world: World, texts: LeaseTexts, version: Version = MAXIMUM, sight: Sight = EVERYTHING, *, deleted: bool = False
) -> list[bytes]:
    """Return the texts of all leases."""
    view = lease_view(world.service.types, version, sight)
    seen, wanted = texts.seen(version, sight), LeaseFilter(deleted=deleted)
    return list(each_text(world.service, None, seen, lambda *lease: as_json(view(*lease)), wanted=wanted))
