"""Options of a feature: where they stand in the configuration file, and the frozen settings that they become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oslo_config import cfg

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
