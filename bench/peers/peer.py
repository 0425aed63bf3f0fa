"""What is asked of each system that is compared, in words that both have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Booking:
    """What is reserved: so many whole hosts in `[start, end)`, in seconds since the epoch."""

    name: str
    hosts: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Held:
    """What a system says that a reservation has: the numbers of its hosts, and its window."""

    hosts: frozenset[int]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Window:
    """What is searched: the first moment, `after` or later, from which all of the hosts are free for so long."""

    hosts: int
    after: int
    seconds: int


class Asked(NamedTuple, Generic[Value]):
    """An answer, and after how many seconds it had arrived."""

    value: Value
    seconds: float


class Connection(Protocol):
    """One client of a system, with one request at a time; reservations are known by the names that they are given."""

    def create(self, booking: Booking) -> Asked[bool]:
        """Ask for a reservation; the answer is whether it is granted."""

    def show(self, name: str) -> Asked[bool]:
        """Read one reservation; the answer is whether it is there."""

    def amend(self, name: str, end: int) -> Asked[bool]:
        """Ask for another end; the answer is whether it is granted."""

    def delete(self, name: str) -> Asked[bool]:
        """Delete a reservation that has not begun."""

    def list_all(self) -> Asked[int]:
        """Read all reservations; the answer is how many there are."""

    def earliest(self, window: Window) -> Asked[int]:
        """Find the first moment from which all hosts are free."""


class Peer(Protocol):
    """A system that runs on this machine and has equal hosts."""

    name: str

    def connect(self, number: int) -> AbstractContextManager[Connection]:
        """Open the client with this number."""

    def begin(self, hosts: int, held: Mapping[str, Held]) -> None:
        """Begin again with so many hosts, and these reservations of one host each, named `filled-0` and so on."""

    def held(self) -> dict[str, Held]:
        """Return all reservations by name, as the system shows them."""

    @property
    def processes(self) -> Sequence[int]:
        """The ids of the processes of the servers."""

    def kill(self) -> None:
        """Kill the servers with SIGKILL, all at once."""

    def restart(self) -> None:
        """Start them again, on what is left."""
