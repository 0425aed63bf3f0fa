"""Options of sleeping hosts: `[power]`, and a group of its own, `[power:NAME]`, for each class of machines."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from oslo_config import cfg

from leasehold.conf.errors import unusable
from leasehold.conf.options import EXAMPLE, YEAR, Classed, read_fields, take_defaults
from leasehold.model.errors import LeaseholdError
from leasehold.model.hours import EXAMPLE as EXAMPLE_HOURS
from leasehold.model.hours import Hours
from leasehold.model.properties import Expression, parse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class MachineClass:
    """How the machines of a class are switched, and what they consume; what is said of it names no credentials."""

    name: str = EXAMPLE
    driver: str = "hook"
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    command: tuple[str, ...] = field(default=(), repr=False)
    cipher_suite: str = ""
    section: str = "ironic"
    verify: str = "true"
    timeout: timedelta = timedelta(seconds=30)
    shut_down: timedelta = timedelta(minutes=5)
    watts_on: float = 0.0
    watts_off: float = 0.0
    conf: cfg.ConfigOpts = field(default_factory=cfg.ConfigOpts, repr=False, compare=False)
    """For what reads a section of its own."""


CLASS_OPTIONS: Sequence[cfg.Opt] = [
    cfg.StrOpt("driver", help="What switches the machines: redfish, ipmi, ironic, hook or sandbox."),
    cfg.StrOpt("username", secret=True, help="The account at the management controllers."),
    cfg.StrOpt("password", secret=True, help="Its password."),
    cfg.ListOpt(
        "command",
        secret=True,
        help="The program of the driver hook with its arguments. It is run with one of the words status, on, shutdown, "
        "off and watts, and the address of the machine; status prints on or off, watts a number.",
    ),
    cfg.StrOpt(
        "verify", help="true, false, or the file of the certificates that management controllers are checked by."
    ),
    cfg.StrOpt("cipher_suite", help="The number of IPMI's cipher suite, such as 17; empty: the controller is asked."),
    cfg.StrOpt("section", help="The section that says where Ironic is, and how to log in there."),
    cfg.IntOpt("timeout_seconds", min=1, max=3600, help="Seconds that one command may take."),
    cfg.IntOpt(
        "shut_down_seconds", min=0, max=YEAR, help="A machine that shuts down for more seconds is switched off."
    ),
    cfg.FloatOpt("watts_on", min=0, help="What a machine consumes while it is on and idle, where it does not tell."),
    cfg.FloatOpt("watts_off", min=0, help="What a machine consumes while it is off."),
]
take_defaults(CLASS_OPTIONS, MachineClass())


@dataclass(frozen=True, slots=True)
class PowerSettings:
    """When hosts sleep, and how long they take to wake up; without `classes` none does."""

    classes: tuple[MachineClass, ...] = ()
    every: timedelta = timedelta(seconds=10)
    idle: timedelta = timedelta(minutes=30)
    least_on: timedelta = timedelta(minutes=30)
    least_off: timedelta = timedelta(hours=1)
    spares: int = 1
    spares_by: tuple[str, ...] = ()
    at_once: int = 10
    wake_floor: timedelta = timedelta(minutes=2)
    wake_default: timedelta = timedelta(minutes=15)
    keep_on: Expression | None = None
    awake_hours: tuple[Hours, ...] = ()
    awake_zone: str = "UTC"

    def named(self, name: str) -> MachineClass | None:
        """Return a class of machines."""
        return next((each for each in self.classes if each.name == name), None)

    def missing(self, name: str) -> str | None:
        """Return why nothing switches the machines of a class; None for one that is configured."""
        return None if self.named(name) else f"Its class {name!r} is not configured; name it in [power] classes."

    def may_sleep(self, now: datetime) -> bool:
        """Say whether machines may fall asleep at this moment."""
        here = now.astimezone(UTC if self.awake_zone == "UTC" else ZoneInfo(self.awake_zone))
        return not any(each.contain(here) for each in self.awake_hours)


def _read(group: Any) -> PowerSettings:
    try:
        keep_on = parse(group.keep_on, "keep_on") if group.keep_on else None
        ZoneInfo(group.awake_zone)
    except LeaseholdError as error:
        raise unusable(f"[power] keep_on: {error.message}") from error
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise unusable(f"[power] awake_zone: there is no time zone {group.awake_zone!r}; an example is UTC.") from error
    hours = tuple(_hours(text) for text in group.awake_hours)
    return read_fields(PowerSettings, group, classes=(), keep_on=keep_on, awake_hours=hours)


def _hours(text: str) -> Hours:
    try:
        return Hours.read(text)
    except ValueError as error:
        raise unusable(f"[power] awake_hours: {text!r} is no time like {EXAMPLE_HOURS}.") from error


def _read_class(conf: cfg.ConfigOpts, name: str) -> MachineClass:
    return read_fields(MachineClass, conf[f"power:{name}"], name=name, conf=conf)


OPTIONS = Classed(
    "power",
    [
        cfg.ListOpt("classes", help="The names of classes of machines that may be switched off; none by default."),
        cfg.IntOpt(
            "every_seconds", min=1, max=3600, help="Seconds between two looks of a manager which hosts to switch."
        ),
        cfg.IntOpt(
            "idle_seconds", min=0, max=YEAR, help="Seconds for which a host has to be idle before it is switched off."
        ),
        cfg.IntOpt(
            "least_on_seconds", min=0, max=YEAR, help="Seconds for which a host stays on after it was switched on."
        ),
        cfg.IntOpt(
            "least_off_seconds",
            min=0,
            max=YEAR,
            help="A host is switched off only if nothing needs it for so many seconds and the time to wake it up.",
        ),
        cfg.IntOpt("spares", min=0, help="How many idle hosts stay on for requests that begin now."),
        cfg.ListOpt("spares_by", help="Properties: so many spares stay on for each combination of their values."),
        cfg.IntOpt(
            "at_once", min=1, help="How many machines are switched at the same time; a start waits for nothing."
        ),
        cfg.IntOpt("wake_floor_seconds", min=1, max=YEAR, help="A host takes at least so many seconds to wake up."),
        cfg.IntOpt(
            "wake_default_seconds",
            min=1,
            max=YEAR,
            help="Seconds that a host takes to wake up at most, until ten wakes of its class are known.",
        ),
        cfg.StrOpt("keep_on", help='Hosts that match this stay on: ["==", "$$rack", "a1"], with each $ twice.'),
        cfg.ListOpt("awake_hours", help="When nothing falls asleep: 'mon-fri 08:00-18:00', or without days every day."),
        cfg.StrOpt("awake_zone", help="The time zone of awake_hours, such as Europe/Berlin."),
    ],
    PowerSettings,
    _read,
    of_class=CLASS_OPTIONS,
    read_class=_read_class,
)
