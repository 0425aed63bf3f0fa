"""What an audit says: what is wrong, what it is about, and who can mend it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFECT = "This is a defect; report it."
REPAIR = "leasehold-manage audit --repair mends it."


class Kind(StrEnum):
    """What can be wrong; these words never change."""

    OVERBOOKED = "overbooked"
    STATUS = "status"
    WORK = "work"
    LATE = "late"
    KEPT = "kept"
    DRIFT = "drift"
    PLACE = "place"
    LEFTOVER = "leftover"
    PLUGIN = "plugin"


class Mend(StrEnum):
    """What the service can do about a finding by itself."""

    LEASE = "lease"
    """The lease's own task is made due, so its one worker brings it, and the cloud, to where they should be."""
    HOST = "host"
    """The host's own task is made due, which brings it into its place or out of ours."""
    REMOVAL = "removal"
    """What a reservation that is over has left in the cloud is removed."""
    ADDRESS = "address"
    """An address that the project of a lease which is over has kept is removed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not be: what it is about, what is wrong, and what to do.

    `mend` is None for what only a person can decide.
    """

    kind: Kind
    subject: str
    what: str
    remedy: str
    mend: Mend | None = None
