"""`template list`, `template show`, `template create`, `template set` and `template delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from leasehold_client.calls.wire import said
from leasehold_client.cli.command.base import TalkingShow, attributes, fields
from leasehold_client.cli.command.things import DeleteThing, ListOwn, ShowThing, ThingKind, thing_fields
from leasehold_client.cli.output.columns import Shown
from leasehold_client.cli.output.shown import show_span
from leasehold_client.cli.reading import typed
from leasehold_client.cli.reading.lease_options import HEAL_POLICIES, TYPES, add_contents, add_purpose, chosen_contents
from leasehold_client.cli.reading.times import DURATIONS
from leasehold_client.errors import ClientError

if TYPE_CHECKING:
    import argparse
    from datetime import timedelta

    from leasehold_client.floating_ip import FloatingIps
    from leasehold_client.template import Template

_KEYS: Final = (
    *("duration_seconds", "open_ended", "reservations", "events", "heal_policy", "reminder_seconds"),
    *("type", "retries", "retry_seconds", "purpose"),
)


def _lasts(span: timedelta | None) -> object:
    return None if span is None else Shown(int(span.total_seconds()), show_span(span))


_KIND: ThingKind[Template] = ThingKind(
    "template",
    "/lease-templates",
    lambda client, _: client.templates,
    {
        **attributes("name", "id", "public"),
        "lasts": lambda _, template: _lasts(template.lasts),
        "reservations": lambda _, template: ", ".join(each["resource_type"] for each in template.reservations),
        "description": lambda _, template: template.values["description"],
    },
)


class ListTemplates(ListOwn):
    """Print a list of the lease templates of the project, and of those of everybody."""

    kind = _KIND


class ShowTemplate(ShowThing):
    """Show a lease template."""

    kind = _KIND


class DeleteTemplate(DeleteThing):
    """Delete a lease template; leases that were made from it stay."""

    kind = _KIND


class CreateTemplate(TalkingShow):
    """Keep a request for leases under a name, without dates: lease create --template asks for it."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", type=typed.name, metavar="TEMPLATE", help="Name for the template")
        parser.add_argument("--description", default="", metavar="<text>", help="what it is for")
        parser.add_argument("--public", action="store_true", help="for all projects; only administrators make such")
        _add_kept(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        options = parsed_args
        made = self.client.templates.create(
            options.name,
            _kept(options, self.client.floating_ips),
            description=options.description,
            public=options.public,
        )
        return fields(thing_fields(self, made))


class SetTemplate(TalkingShow):
    """Change a lease template; leases that were made from it stay as they are."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        _KIND.add_one(parser, "to update")
        parser.add_argument("--name", type=typed.name, help="New name for the template")
        parser.add_argument("--description", metavar="<text>", help="what it is for")
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument("--public", dest="public", action="store_true", default=None, help="for all projects")
        whose.add_argument("--private", dest="public", action="store_false", help="for its own project alone")
        _add_kept(parser)
        parser.add_argument(
            "--remove", action="append", default=[], choices=_KEYS, help="what it keeps no more; may be repeated"
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[tuple[str, ...], tuple[object, ...]]:
        changes = said(**{key: getattr(parsed_args, key) for key in ("name", "description", "public")})
        changes |= _kept(parsed_args, self.client.floating_ips) | dict.fromkeys(parsed_args.remove)
        if not changes:
            raise ClientError("Say what to change: --name, --for, --reservation and others.")
        calls = self.client.templates
        return fields(thing_fields(self, calls.change(calls.find(parsed_args.thing).id, changes)))


def _add_kept(parser: argparse.ArgumentParser) -> None:
    """Add the options of what is kept of a lease's request, which `_kept` reads."""
    parser.add_argument(
        "--for", dest="lasts", type=typed.duration, metavar="<duration>", help=f"how long its leases are, {DURATIONS}"
    )
    add_contents(parser)
    add_purpose(parser, "what its leases are for, in words")
    parser.add_argument("--type", choices=TYPES, help="what happens if a lease cannot be granted at once")
    parser.add_argument("--retries", type=int, metavar="<number>", help="with --type retry: how often it is tried")
    parser.add_argument("--retry-seconds", type=int, metavar="<seconds>", help="the pause between tries")
    parser.add_argument("--heal-policy", choices=HEAL_POLICIES, help="what happens if something that a lease has fails")


def _kept(options: argparse.Namespace, addresses: FloatingIps) -> dict[str, Any]:
    """Return the keys of the API that the options say."""
    return said(
        duration_seconds=options.lasts,
        reservations=chosen_contents(options, addresses),
        **{key: getattr(options, key) for key in ("type", "retries", "retry_seconds", "heal_policy", "purpose")},
    )
