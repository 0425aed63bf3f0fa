"""`leasehold-manage pools`: which hosts the reservation pool would draw or give back now, and why."""

from __future__ import annotations

import sys
from threading import Event
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.cmd.database import OperatorError, load_config
from leasehold.db import schema
from leasehold.resource_types.registry import PluginError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace, _SubParsersAction

    from sqlalchemy import Engine

    from leasehold.model.placing.pool_size import PoolPlan


def add_command(groups: _SubParsersAction[ArgumentParser]) -> None:
    """Add the command to the parser of `leasehold-manage`."""
    text = "draw the shared hosts that leases need, and give back those that none needs"
    parser = groups.add_parser("pools", help=text, description=f"{text}, as [physical:host] pool_floor and others say.")
    parser.add_argument("--dry-run", action="store_true", help="only say what would move, and why")
    parser.set_defaults(run=run)


def run(args: Namespace, engine: Engine) -> int:
    """Move hosts once, or say with `--dry-run` what would move; a manager does what is begun."""
    from leasehold.cmd.compose import service_on  # noqa: PLC0415 - only here, so that the other commands start faster.
    from leasehold.leasing.resources.pool_size import follow, planned  # noqa: PLC0415 - as above.

    schema.check(engine)
    try:
        service = service_on(engine, load_config(args, engine), Event())
        plans = planned(service) if args.dry_run else follow(service)
    except (CloudError, PluginError) as error:
        raise OperatorError(str(error)) from error
    verb = "Would" if args.dry_run else "Begins to"
    sys.stdout.writelines(f"{line}\n" for found in plans for line in _told(found, verb))
    return 0


def _told(found: PoolPlan, verb: str) -> list[str]:
    """Return what is said of a plan, in lines."""
    moves = [(each, f"draw {each.label}, from which {each.servers} servers have to move") for each in found.draw]
    moves += [(each, f"give back {each.label}") for each in found.give_back]
    lines = [f"{verb} {move}. {found.reasons[each.number]}." for each, move in moves] or ["Nothing moves."]
    moved = {each.number for each, _ in moves}
    kept = [each for each in found.idle if each.number not in moved]
    return [*found.why, *lines, *(f"Keeps {each.label}. {found.reasons[each.number]}." for each in kept)]
