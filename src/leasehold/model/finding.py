"""A finding of the audit: its kind, its subject, what is wrong, and the remedy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFECT = "This is a defect; report it."
REPAIR = "leasehold-manage audit --repair repairs it."


class FindingKind(StrEnum):
    """The kinds of findings; scripts and metrics use these words, so they never change."""

    OVERBOOKED = "overbooked"
    UNCOUNTED = "uncounted"
    STATUS = "status"
    WORK = "work"
    LATE = "late"
    KEPT = "kept"
    DRIFT = "drift"
    PLACE = "place"
    LEFTOVER = "leftover"
    PLUGIN = "plugin"
    HOLD = "hold"
    LOST = "lost"


class Mend(StrEnum):
    """The repairs that the service may do by itself."""

    LEASE = "lease"
    """Make the lease's task due; its worker converges the lease and the cloud."""
    RESOURCE = "resource"
    """Make the resource's task due; it puts an enrolled resource into its place, and releases a removed one."""
    REMOVAL = "removal"
    """Remove the cloud objects of a reservation that is over."""
    DRIVER = "driver"
    """Let the driver of the resource's type repair it."""
    HOLD = "hold"
    """Hold the resource for its lease no more."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: `subject` is the id of what is affected, `what` says what is wrong, `remedy` what to do.

    `mend` is the automatic repair; None if only an operator can decide. `resource_type` is the type of the subject if
    that is a resource.
    """

    kind: FindingKind
    subject: str
    what: str
    remedy: str
    mend: Mend | None = None
    resource_type: str | None = None
