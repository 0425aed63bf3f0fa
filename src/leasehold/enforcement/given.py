"""Limits of a project that somebody else gives, in place of those of the configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from leasehold.model.use import NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST_HOURS: Final = "host_hours_ahead"
LEASES_PER_USER, HOSTS_PER_USER, HOST_HOURS_PER_USER = "leases_per_user", "hosts_per_user", f"{HOST_HOURS}_per_user"
LIMITED: Final = (*NAMES, HOST_HOURS, LEASES_PER_USER, HOSTS_PER_USER, HOST_HOURS_PER_USER)
"""What is counted of a project, and of a user in it, by the names under which it may be limited."""


@dataclass(frozen=True, slots=True)
class Given:
    """The limits by what they limit, None for no limit; where there is none of a name, the configured one holds.

    `source` is who gives them, which calls them by their name after a `prefix`.
    """

    limits: Mapping[str, int | None] = field(default_factory=dict)
    source: str = ""
    prefix: str = ""

    def over(self, name: str, configured: int | None) -> int | None:
        """Return the limit that holds, None for none."""
        return self.limits.get(name, configured)

    def said(self, name: str, fits: float) -> str:
        """Return what a refusal adds to the limit: who gives it, as what, and how much still `fits`; "" if nobody."""
        return f" ({self.prefix}{name} in {self.source}: {max(0, fits):g} left)" if name in self.limits else ""

    def details(self, name: str, fits: float) -> dict[str, Any]:
        """Return the same for programs."""
        found = {"name": f"{self.prefix}{name}", "source": self.source, "fits": max(0, fits)}
        return found if name in self.limits else {}


CONFIGURED: Final = Given()
"""Nobody gives any."""


def configured_alone(_project_id: str) -> Given:
    """Return that only the configured limits hold."""
    return CONFIGURED
