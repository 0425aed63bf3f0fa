"""Options: where those of a feature stand in the configuration file, and the frozen settings that options become.

Those that are durations have upper bounds, so that no calculation with them leaves the range of dates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from oslo_config import cfg

from leasehold.conf.errors import unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

YEAR: Final = 366 * 24 * 3600
"""Most seconds of a duration that is added to or subtracted from a date: the calendar goes on for 8,000 years."""
MOST: Final = 10**11
"""Most seconds of a duration that dates are only compared with: some 3,000 years, which is as good as no limit."""

Values = TypeVar("Values")
_SECONDS = "_seconds"
EXAMPLE: Final = "NAME"
"""Stands for the name of a class in the documentation."""
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class Options(Generic[Values]):
    """Options of one group; without values the settings are `settings()`, from which options have their defaults.

    `read` makes the settings from the group's values, by default as `read_fields` does.
    """

    group: str
    options: Sequence[cfg.Opt]
    settings: type[Values]
    read: Callable[[Any], Values] | None = None

    def __post_init__(self) -> None:
        take_defaults(self.options, self.settings())

    def register(self, conf: cfg.ConfigOpts) -> None:
        """Add the options to a configuration."""
        conf.register_opts(self.options, group=self.group)

    def read_from(self, conf: cfg.ConfigOpts) -> Values:
        """Return the settings; raises ConfigurationError."""
        group = conf[self.group]
        return read_fields(self.settings, group) if self.read is None else self.read(group)


@dataclass(frozen=True, kw_only=True)
class Classed(Options[Values]):
    """The options of a group, and those `of_class` in a group of its own, `[GROUP:NAME]`, for each of its `classes`.

    `read_class` makes the settings of a class from its name. Under `[GROUP:NAME]` the options are documented.
    """

    of_class: Sequence[cfg.Opt]
    read_class: Callable[[cfg.ConfigOpts, str], Any]

    def register(self, conf: cfg.ConfigOpts) -> None:
        super().register(conf)
        conf.register_opts(self.of_class, group=f"{self.group}:{EXAMPLE}")

    def read_from(self, conf: cfg.ConfigOpts) -> Values:
        settings = super().read_from(conf)
        classes = tuple(self._class(conf, name) for name in dict.fromkeys(conf[self.group].classes))
        return replace(settings, classes=classes)  # type: ignore[type-var]  # settings are dataclasses.

    def _class(self, conf: cfg.ConfigOpts, name: str) -> Any:
        if not _NAME.fullmatch(name):
            message = f"{name!r} is no name of letters, digits, dots, hyphens and underscores."
            raise unusable(f"[{self.group}] classes: {message}")
        conf.register_opts(self.of_class, group=f"{self.group}:{name}")
        return self.read_class(conf, name)


def take_defaults(options: Iterable[cfg.Opt], settings: object) -> None:
    """Give options without a default that of the field of their name, or in seconds of a length of time before that.

    An empty text is no default.
    """
    values = {each.name: getattr(settings, each.name) for each in fields(settings)}  # type: ignore[arg-type]  # a dataclass.
    for option in options:
        value = values.get(option.dest)
        if isinstance(length := values.get(option.dest.removesuffix(_SECONDS)), timedelta):
            value = length // timedelta(seconds=1) if isinstance(option, cfg.IntOpt) else length.total_seconds()
        if option.default is None and value != "":
            option.default = list(value) if isinstance(value, tuple | frozenset) else value


def read_fields(settings: type[Values], group: Any, **others: Any) -> Values:
    """Return settings whose fields are what the group's options of their names say, but for the `others`.

    A field that is a length of time has an option in seconds, whose name ends so. The others have the type
    of their default.
    """
    defaults = settings()
    names = {each.name for each in fields(settings)} - others.keys()  # type: ignore[arg-type]  # all are dataclasses.
    return settings(**{name: _field(group, name, getattr(defaults, name)) for name in names}, **others)


def _field(group: Any, name: str, default: object) -> Any:
    if isinstance(default, timedelta):
        return timedelta(seconds=getattr(group, name + _SECONDS))
    value = getattr(group, name)
    return type(default)(value) if isinstance(default, tuple | frozenset | StrEnum) else value


def count_option(settings: type[Values], text: str) -> Options[Values]:
    """Return the option of settings that are one number, which has the name of their field in `[manager]`."""
    (field,) = fields(settings)  # type: ignore[arg-type]  # the settings of each feature are a dataclass.
    return Options("manager", [cfg.IntOpt(field.name, min=0, help=text)], settings)
