"""The replay's reference: what has to be granted, found the slow and obvious way.

Written from the rule alone (docs/decisions/0007) and on purpose without anything of `leasehold.calendar`: each host
has a plain list of what it is leased for, and every host is looked at for every request.
"""

from __future__ import annotations


class Reference:
    """Hosts in the order of their enrolment, each with the windows it is leased for."""

    def __init__(self, hosts: int) -> None:
        """Begin with this many hosts that nobody has leased."""
        self.leased: list[list[tuple[int, int]]] = [[] for _ in range(hosts)]

    def occupy(self, host: int, start: int, end: int) -> None:
        """Lease a host for `[start, end)`, whatever else it is leased for."""
        self.leased[host].append((start, end))

    def ask(self, hosts: int, start: int, end: int) -> list[int] | None:
        """Lease the lowest-numbered hosts that are free in all of `[start, end)` and return them; None: refused."""
        free = [number for number in range(len(self.leased)) if self._is_free(number, start, end)]
        if len(free) < hosts:
            return None
        for number in free[:hosts]:
            self.occupy(number, start, end)
        return free[:hosts]

    def _is_free(self, number: int, start: int, end: int) -> bool:
        return all(end <= begun or over <= start for begun, over in self.leased[number])
