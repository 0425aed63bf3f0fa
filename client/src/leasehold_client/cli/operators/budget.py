"""`budget list`, `show`, `create`, `set` and `delete`, and `price list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.budget import AT_END
from leasehold_client.cli.command.base import TalkingLister, TalkingShow, attributes, fields
from leasehold_client.cli.command.things import DeleteThing, ListOwn, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.reading import typed
from leasehold_client.errors import ClientError

if TYPE_CHECKING:
    import argparse

    from leasehold_client.budget import Budget

_KIND: ThingKind[Budget] = ThingKind(
    "budget",
    "/budgets",
    lambda client, _: client.budgets,
    {
        **attributes("name", "id", "amount", "left", "unit"),
        "from": lambda command, budget: command.moment(budget.start),
        "until": lambda command, budget: command.moment(budget.end),
        "user": lambda _, budget: budget.user_id or "",
        **attributes("at_end"),
    },
)


class ListPrices(TalkingLister):
    """Print what resources cost: for each, the first line counts that fits it."""

    nothing = "Nothing has a price."

    def take_action(self, _parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        names = (
            *("list_name", "resource_type", "properties", "hour", "vcpu_hour", "memory_gib_hour"),
            *("flat", "given_up", "filler"),
        )
        rows = [(*(getattr(each, name) for name in names), each.unit) for each in self.client.prices.list()]
        return ("list", *(name.replace("_", " ") for name in names[1:]), "unit"), rows


class ListBudgets(ListOwn):
    """Print a list of budgets, and what is left of each."""

    kind = _KIND


class ShowBudget(ShowThing):
    """Show a budget: what is agreed of it, and what of that is for time that has passed."""

    kind = _KIND


class DeleteBudget(DeleteThing):
    """Delete a budget; the leases that it paid for stay."""

    kind = _KIND


class CreateBudget(TalkingShow):
    """Limit what the leases of a project, or of one member of it, may cost between two dates."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        moment = typed.moment_of(self.clock)
        parser.add_argument("name", type=typed.name, metavar="BUDGET", help="Name for the budget")
        parser.add_argument("--for-project", required=True, metavar="<project-id>", help="whose leases it pays for")
        parser.add_argument("--for-user", metavar="<user-id>", help="only those of this member, who needs both then")
        parser.add_argument("--amount", required=True, metavar="<amount>", help="such as 1500.00")
        parser.add_argument("--from", dest="start", type=moment, required=True, metavar="<time>", help="from when on")
        parser.add_argument("--until", dest="end", type=moment, required=True, metavar="<time>", help="until when")
        _add_at_end(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        asked = parsed_args
        made = self.client.budgets.create(
            asked.name, asked.for_project, asked.amount, asked.start, asked.end, asked.for_user, asked.at_end
        )
        return fields(thing_fields(self, made))


class SetBudget(TalkingShow):
    """Change a budget; one that is smaller than what is agreed takes nothing away."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _KIND.add_one(parser, "to update")
        parser.add_argument("--name", type=typed.name, help="New name for the budget")
        parser.add_argument("--amount", metavar="<amount>", help="such as 1500.00")
        parser.add_argument(
            "--until", dest="end", type=typed.moment_of(self.clock), metavar="<time>", help="until when it pays"
        )
        _add_at_end(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        asked, calls = parsed_args, self.client.budgets
        changes = {"name": asked.name, "amount": asked.amount, "end": asked.end, "at_end": asked.at_end}
        if not any(changes.values()):
            raise ClientError("Say what to change: --name, --amount, --until or --at-end.")
        changed = calls.change(calls.find(asked.thing).id, **changes)
        return fields(thing_fields(self, changed))


def _add_at_end(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--at-end", choices=AT_END, help="leases that go on then run on, or their owners are told, or they end as well"
    )
