"""`subscription list`, `show`, `create`, `replay` and `delete`, and `subscription dead letter list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import TalkingLister, TalkingShow, attributes, fields
from leasehold_client.cli.command.things import DeleteThing, ListOwn, ShowThing, ThingKind, thing_fields

if TYPE_CHECKING:
    import argparse

    from leasehold_client.subscription import Subscription

_KIND: ThingKind[Subscription] = ThingKind(
    "subscription",
    "/subscriptions",
    lambda client, _: client.subscriptions,
    {
        **attributes("target", "id", "channel", "status"),
        "last_error": lambda _, subscription: subscription.values["last_error"],
    },
)
_DEAD_LETTERS = ("id", "type", "lease_id", "died_at", "error")


class ListSubscriptions(ListOwn):
    """Print a list of subscriptions: where events are sent to, and how that goes."""

    kind = _KIND


class ShowSubscription(ShowThing):
    """Show a subscription, how far it has come, and why its last delivery failed."""

    kind = _KIND


class DeleteSubscription(DeleteThing):
    """Delete a subscription; nothing more is sent."""

    kind = _KIND


class CreateSubscription(TalkingShow):
    """Have events sent to a webhook or by e-mail, from now on. The secret of a webhook is shown only here."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("target", metavar="TARGET", help="URL of the webhook, or address")
        parser.add_argument("--channel", choices=["webhook", "email"], help="how it is sent (default: webhook)")
        parser.add_argument(
            "--event-type",
            action="append",
            default=[],
            metavar="<type>",
            help="only events of this type, such as lease.event.start_lease; may be repeated",
        )
        parser.add_argument("--lease", metavar="<lease>", help="only events of this lease, by ID or name")
        parser.add_argument("--own", action="store_true", help="only what you made yourself")
        parser.add_argument("--all-projects", action="store_true", help="of all projects, for administrators")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        named = parsed_args.lease
        made = self.client.subscriptions.create(
            parsed_args.target,
            channel=parsed_args.channel,
            event_types=parsed_args.event_type,
            lease_id=None if named is None else self.client.leases.find(named).id,
            own=parsed_args.own,
            all_projects=parsed_args.all_projects,
        )
        return fields(thing_fields(self, made))


class ReplaySubscription(TalkingShow):
    """Send an event and all after it again; without one, go on where deliveries stopped."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _KIND.add_one(parser)
        parser.add_argument("--event", metavar="<id>", help="the first event to send again")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        calls = self.client.subscriptions
        return fields(thing_fields(self, calls.replay(calls.find(parsed_args.thing).id, parsed_args.event)))


class ListDeadLetters(TalkingLister):
    """Print the events that the receiver of a subscription refused, oldest first."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _KIND.add_one(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        calls = self.client.subscriptions
        found = calls.dead_letters(calls.find(parsed_args.thing).id)
        return _DEAD_LETTERS, [
            (each.id, each.type, each.lease_id, self.moment(each.died_at), each.error) for each in found
        ]
