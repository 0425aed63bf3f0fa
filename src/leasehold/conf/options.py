"""Options of a feature: where they stand in the configuration file, and the frozen settings that they become."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from oslo_config import cfg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Values = TypeVar("Values")


@dataclass(frozen=True, slots=True)
class Options(Generic[Values]):
    """Options of one group. `read` makes the settings from the group's values; without values they are `settings()`."""

    group: str
    options: Sequence[cfg.Opt]
    settings: type[Values]
    read: Callable[[Any], Values]

    def register(self, conf: cfg.ConfigOpts) -> None:
        """Add the options to a configuration."""
        conf.register_opts(self.options, group=self.group)

    def read_from(self, conf: cfg.ConfigOpts) -> Values:
        """Return the settings; raises ConfigurationError."""
        return self.read(conf[self.group])


def read_fields(settings: type[Values], group: Any, **others: Any) -> Values:
    """Return settings whose fields are what the group's options of the same names say, but for the `others`."""
    names = {each.name for each in fields(settings)} - others.keys()  # type: ignore[arg-type]  # all are dataclasses.
    return settings(**{name: getattr(group, name) for name in names}, **others)


def count_option(settings: type[Values], text: str) -> Options[Values]:
    """Return the option of settings that are one number, which has the name of their field in `[manager]`."""
    (field,) = fields(settings)  # type: ignore[arg-type]  # the settings of each feature are a dataclass.
    option = cfg.IntOpt(field.name, default=field.default, min=0, help=text)
    return Options(
        "manager", [option], settings, lambda manager: settings(**{field.name: getattr(manager, field.name)})
    )
