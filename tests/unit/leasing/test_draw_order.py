"""Feature A4: which shared hosts are drawn first is a policy, which an operator chooses and a package may provide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.leasing.draw_order import FewestServers, in_order, load_draw_order
from leasehold.model.draw import Drawable, Guest
from leasehold.resource_types.registry import PluginError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.draw_order import DrawOrder


def host(number: int, *memory: int, stay: int = 0) -> Drawable:
    """Return a host with a server to move for each of these amounts of memory, and so many that stay."""
    guests = [Guest(f"{number}-{each}", "ACTIVE", stays=False, size={"MEMORY_MB": each}) for each in memory]
    guests += [Guest(f"{number}-stays-{each}", "SHUTOFF", stays=True, size={"MEMORY_MB": 9}) for each in range(stay)]
    return Drawable(number, f"h{number}", tuple(guests))


HOSTS = [host(1, 5, 5), host(2, 8), host(3, 7), host(4), host(5, stay=3), host(6, 6, stay=1)]


class Reverse:
    """The highest number first."""

    def ranked(self, hosts: Sequence[Drawable]) -> Sequence[Drawable]:
        return hosts[::-1]


class Forgetful:
    """A plugin that leaves hosts out."""

    def ranked(self, hosts: Sequence[Drawable]) -> Sequence[Drawable]:
        return hosts[:1]


class Broken:
    """A plugin with a bug."""

    def ranked(self, hosts: Sequence[Drawable]) -> Sequence[Drawable]:
        message = "bug"
        raise RuntimeError(message)


@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        (FewestServers(), [4, 5, 3, 2, 6, 1]),
        (Reverse(), [6, 5, 4, 3, 2, 1]),
        (Forgetful(), [4, 5, 3, 2, 6, 1]),
        (Broken(), [4, 5, 3, 2, 6, 1]),
    ],
    ids=lambda each: "" if isinstance(each, list) else type(each).__name__,
)
def test_which_hosts_come_first(order: DrawOrder, wanted: list[int], caplog: pytest.LogCaptureFixture) -> None:
    assert [each.number for each in in_order(order, HOSTS[::-1])] == wanted
    assert ("A bug in the draw order" in caplog.text) is isinstance(order, Forgetful | Broken)


def test_an_order_is_found_by_its_name() -> None:
    assert isinstance(load_draw_order("fewest_servers"), FewestServers)
    with pytest.raises(PluginError, match=r"draw_order names 'alphabetical'"):
        load_draw_order("alphabetical")
