"""`charge list`, `charge export` and `charge correct`: what was billed for time that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold_client.charge import FORMATS
from leasehold_client.cli.command.base import TalkingLister, TalkingShow, fields
from leasehold_client.cli.command.past import AboutPast, whose

if TYPE_CHECKING:
    import argparse

_TITLES = ("id", "lease", "type", "what", "from", "to", "units", "hours", "price", "amount", "unit")


class ListCharges(AboutPast, TalkingLister):
    """Print what leases were charged for time that is over."""

    nothing = "Nothing was charged for that time."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--lease", metavar="<id>", help="of this lease")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        asked = parsed_args
        found = self.client.charges.show(asked.start, asked.until, lease_id=asked.lease, **whose(asked))
        if found.closed_until is None:
            self.tell("Nothing is charged yet: that is done when the first period is over.")
        else:
            self.tell(f"Together {found.total} {found.unit}. Charged up to {self.moment(found.closed_until)}.")
        rows: list[tuple[object, ...]] = [
            (
                *(each.id, each.lease_id, each.resource_type, each.kind.replace("_", " ")),
                *(self.moment(each.start), self.moment(each.end)),
                *(each.units, f"{each.hours:.2f}", each.price, each.amount, found.unit),
            )
            for each in found.rows
        ]
        return _TITLES, rows


class ExportCharges(AboutPast):
    """Write charges for a spreadsheet (csv), or as rows of FOCUS 1.2 for other programs (focus)."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        about = f"{' or '.join(FORMATS)} (default: csv)"
        parser.add_argument("--as", dest="form", choices=FORMATS, default=FORMATS[0], metavar="<format>", help=about)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        asked = parsed_args
        self.app.stdout.write(self.client.charges.export(asked.form, asked.start, asked.until, **whose(asked)))
        self.app.stdout.flush()


class CorrectCharge(TalkingShow):
    """Give something back of a charge, or take more, by a row of its own; a charge itself never changes."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("id", type=int, metavar="CHARGE_ID", help="id of the charge, as `charge list` shows it")
        parser.add_argument("--amount", required=True, metavar="<amount>", help="such as -1.50, to give that back")
        parser.add_argument("--reason", required=True, metavar="<words>", help="why, for those who read the bill")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        made = self.client.charges.correct(parsed_args.id, parsed_args.amount, parsed_args.reason)
        shown = {name: getattr(made, name) for name in ("id", "corrects", "lease_id", "amount", "reason")}
        return fields(shown)
