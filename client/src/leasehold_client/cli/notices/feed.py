"""`feed list`, `feed show`, `feed create` and `feed delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import TalkingShow, attributes, fields
from leasehold_client.cli.command.things import DeleteThing, ListOwn, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.reading import typed

if TYPE_CHECKING:
    import argparse

    from leasehold_client.feed import Feed

_KIND: ThingKind[Feed] = ThingKind(
    "feed",
    "/feeds",
    lambda client, _: client.feeds,
    attributes("name", "id", "own") | {"user_id": lambda _, feed: feed.values["user_id"]},
)


class ListFeeds(ListOwn):
    """Print a list of calendar feeds, without their addresses."""

    kind = _KIND


class ShowFeed(ShowThing):
    """Show a calendar feed, without its address."""

    kind = _KIND


class DeleteFeed(DeleteThing):
    """Delete a calendar feed; its address answers nobody any more."""

    kind = _KIND


class CreateFeed(TalkingShow):
    """Make an address at which calendar programs read leases, without a login. It is shown only here."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "name", type=typed.name, metavar="FEED", help="Name for the feed, which calendar programs show"
        )
        parser.add_argument("--own", action="store_true", help="only your leases, and not all of the project")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        made = self.client.feeds.create(parsed_args.name, own=parsed_args.own)
        self.tell(
            "Add the address to a calendar program as a calendar to subscribe to. It is shown only now: whoever has it "
            "reads the leases, until feed delete."
        )
        return fields(thing_fields(self, made))
