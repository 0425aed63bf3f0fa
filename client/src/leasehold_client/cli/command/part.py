"""`--limit`, `--marker`, `--sort` and the filters of every list, from one table (API from 1.3 on)."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.part import ListPart
from leasehold_client.cli.command.base import add_sorting, sorted_rows
from leasehold_client.cli.reading import typed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from leasehold_client.cli.command.base import Talking
    from leasehold_client.cli.reading.zone import Clock

_LEASE_SORTS = ("created_at", "start_date", "end_date", "name", "status")
_OF_RESOURCES = ("reservable", "disabled")


@dataclass(frozen=True, slots=True)
class ListKeys:
    """By which keys of the API a list is filtered and sorted; without `sorts` it is only paged."""

    texts: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    moments: tuple[str, ...] = ()
    sorts: tuple[str, ...] = ()


_WINDOWS = ListKeys(texts=("name", "status"), moments=("ends_after", "starts_before"), sorts=_LEASE_SORTS)
LIST_KEYS: Mapping[str, ListKeys] = {
    "/leases": replace(_WINDOWS, texts=("name", "purpose", "status"), switches=("deleted",)),
    "/maintenances": _WINDOWS,
    "/os-hosts": ListKeys(
        ("hypervisor_hostname", "hypervisor_type", "availability_zone", "pool"),
        _OF_RESOURCES,
        sorts=("created_at", "hypervisor_hostname", "vcpus", "memory_mb", "local_gb", "updated_at"),
    ),
    "/floatingips": ListKeys(
        ("floating_ip_address", "floating_network_id", "subnet_id"),
        _OF_RESOURCES,
        sorts=("created_at", "floating_ip_address", "updated_at"),
    ),
    "/resources/{resource_type}": ListKeys(
        ("name", "health", "pool"), _OF_RESOURCES, sorts=("created_at", "name", "health", "updated_at")
    ),
    "/os-hosts/allocations": ListKeys(),
    "/flexible-leases": ListKeys(sorts=("created_at", "earliest", "latest")),
    "/offers": ListKeys(sorts=("expires_at",)),
    "/series": ListKeys(("name",), sorts=("created_at", "name", "updated_at")),
    "/budgets": ListKeys(("name",), sorts=("created_at", "name")),
    "/fillers": ListKeys(("name", "state"), sorts=("created_at", "name", "ended_at")),
    "/alarms": ListKeys(("name", "state"), sorts=("created_at", "name", "state", "changed_at", "checked_at")),
    "/subscriptions": ListKeys(
        ("channel", "target", "status", "lease_id"),
        ("own",),
        sorts=("created_at", "channel", "target", "status", "position"),
    ),
    "/feeds": ListKeys(("name",), ("own",), sorts=("created_at", "name")),
    "/owned-resources": ListKeys(("name", "health"), ("reservable",), sorts=("name", "resource_type")),
    "/published-offers": ListKeys(("name", "status"), sorts=("created_at", "start_date", "end_date", "name", "status")),
    "/lease-templates": ListKeys(("name",), ("public",), sorts=("created_at", "name", "updated_at")),
}
"""Those of each list by its path after `/v1`."""


def add_part(parser: argparse.ArgumentParser, clock: Clock, path: str, columns: Iterable[str], default: str) -> None:
    """Add the options of a list: by which column its table is sorted, and which part of it is asked for."""
    listed = LIST_KEYS[path]
    add_sorting(parser, columns, default)
    parser.set_defaults(sort_by=None, default_column=default)
    group = parser.add_argument_group("which part of the list")
    group.add_argument("--limit", type=int, metavar="<number>", help="at most so many")
    after = "only what comes after this one, the last of the page before"
    group.add_argument("--marker", type=typed.wanted, metavar="<id>", help=after)
    if listed.sorts:
        keys = ", ".join(listed.sorts)
        text = f"before --limit counts, by one of {keys}; with :desc the greatest first"
        group.add_argument("--sort", type=_sort_of(listed.sorts), metavar="<key>[:desc]", help=text)
    for key in listed.texts:
        _add(group, key, type=typed.wanted, metavar="<text>", help=f"only with this {key}, or one of several by commas")
    for key in listed.moments:
        _add(group, key, type=typed.moment_of(clock), metavar="<time>", help=f"only what {key.replace('_', ' ')} this")
    for key in listed.switches:
        _add(group, key, action=argparse.BooleanOptionalAction, help=f"only where {key} is true, or is not")


def asked_part(options: argparse.Namespace, path: str) -> ListPart:
    """Return the part of a list that the options of `add_part` ask for."""
    listed = LIST_KEYS[path]
    given = {key: getattr(options, _dest(key)) for key in (*listed.texts, *listed.moments, *listed.switches)}
    filters = {key: value for key, value in given.items() if value is not None}
    return ListPart(options.limit, options.marker, getattr(options, "sort", None), filters)


def rows_of(
    command: Talking,
    values: Iterable[Any],
    cells: Mapping[str, Callable[[Talking, Any], object]],
    options: argparse.Namespace,
    part: ListPart,
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return titles and rows of a table; the service's order stays if it was asked for, unless a column is named."""
    return sorted_rows(command, values, cells, options.sort_by or (None if part.ordered else options.default_column))


def _add(group: argparse._ArgumentGroup, key: str, **settings: Any) -> None:
    group.add_argument(f"--{key.replace('_', '-')}", dest=_dest(key), default=None, **settings)


def _dest(key: str) -> str:
    # Arguments of the same name say something else.
    return f"only_{key}"


def _sort_of(keys: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        key, _, direction = text.partition(":")
        if key not in keys or direction not in ("", "asc", "desc"):
            raise argparse.ArgumentTypeError(f"{text!r} has to be one of {', '.join(keys)}, and may end in :desc.")
        return text

    return read
