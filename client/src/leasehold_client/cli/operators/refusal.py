"""`refusal list`: how many requests were refused, and how many more resources would have granted them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold_client.cli.command.base import TalkingLister
from leasehold_client.cli.reading import typed

if TYPE_CHECKING:
    import argparse


class ListRefusals(TalkingLister):
    """Print how many requests were refused in each hour, and how many more hosts or others would have granted them."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        past = typed.past_of(self.clock)
        parser.add_argument("--from", dest="start", type=past, metavar="<time>", help="default: 30 days ago")
        parser.add_argument("--until", dest="end", type=past, metavar="<time>", help="default: now")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        end = parsed_args.end or self.clock.now()
        found = self.client.refusals.list(parsed_args.start or end - timedelta(days=30), end)
        rows: list[tuple[object, ...]] = [
            (self.moment(each.hour), each.operation, each.code, each.resource_type, each.missing, each.refused)
            for each in found
        ]
        return ("hour", "operation", "code", "resource type", "missing", "refused"), rows
