"""`owned resource list` and `owned lease delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import Talking, attributes
from leasehold_client.cli.command.things import ListOwn, ThingKind
from leasehold_client.cli.output.columns import Shown

if TYPE_CHECKING:
    import argparse

    from leasehold_client.owned_resource import OwnedResource


def _leases(command: Talking, owned: OwnedResource) -> object:
    """Return the leases of a resource: in a table their ids, their projects and when they end."""
    said = [f"{each.id} of {each.project_id} to {command.moment(each.end)}" for each in owned.leases]
    return Shown(owned.values["leases"], "\n".join(said))


_KIND: ThingKind[OwnedResource] = ThingKind(
    "owned resource",
    "/owned-resources",
    lambda client, _: client.owned_resources,
    attributes("name", "id", "resource_type", "owner") | {"leases": _leases},
)


class ListOwned(ListOwn):
    """Print the resources that the project owns, and the leases that use them, of whatever project."""

    kind = _KIND


class DeleteOwnedLease(Talking):
    """Delete a lease of another project that has resources of this project alone."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("lease", metavar="LEASE", help="ID of the lease, as owned resource list shows it")

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.client.owned_resources.end_lease(parsed_args.lease)
        self.app.stdout.write(f"Deleted lease: {parsed_args.lease}\n")
