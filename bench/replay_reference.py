"""The replay's reference: finds by brute force what the service must grant.

It follows the rule alone (docs/decisions/0007) and deliberately uses no code of `leasehold.calendar`: each host has a
plain list of its leased windows, and every request checks every host.
"""

from __future__ import annotations


class Reference:
    """Hosts in the order of their enrolment, each with the windows it is leased for."""

    def __init__(self, hosts: int) -> None:
        """Begin with this many unleased hosts."""
        self.leased: list[list[tuple[int, int]]] = [[] for _ in range(hosts)]

    def occupy(self, host: int, start: int, end: int) -> None:
        """Lease a host for `[start, end)`, without checking for an overlap."""
        self.leased[host].append((start, end))

    def ask(self, hosts: int, start: int, end: int) -> list[int] | None:
        """Lease the lowest-numbered hosts that are free in all of `[start, end)` and return them; None is a refusal."""
        free = [number for number in range(len(self.leased)) if self._is_free(number, start, end)]
        if len(free) < hosts:
            return None
        for number in free[:hosts]:
            self.occupy(number, start, end)
        return free[:hosts]

    def _is_free(self, number: int, start: int, end: int) -> bool:
        return all(end <= begun or over <= start for begun, over in self.leased[number])
