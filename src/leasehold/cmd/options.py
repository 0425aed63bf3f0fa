"""What every entry point begins with: the configuration, the log, and a sentence when either cannot be had."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from logging import getLogger
from typing import TYPE_CHECKING

from leasehold import conf
from leasehold.cmd.database import OperatorError
from leasehold.conf import blazar, logging
from leasehold.db.schema import SchemaError
from leasehold.enforcement.base import UnknownFilterError
from leasehold.resource_types.registry import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

log = getLogger(__name__)

CANNOT_START = 2
"""Exit code of a program whose settings cannot be used."""
TRY_AGAIN = 1
"""Exit code of a program that another try may start: its database was away."""

SETTINGS_ERRORS = (conf.ConfigurationError, PluginError, SchemaError, UnknownFilterError)
"""What an operator has to mend; each carries a sentence."""


@contextmanager
def explained(prog: str) -> Iterator[None]:
    """End the program with a sentence instead of a traceback when its settings, or its database, cannot be used."""
    try:
        yield
    except (*SETTINGS_ERRORS, OperatorError) as error:
        sys.stderr.write(f"{prog}: {error}\n")
        raise SystemExit(TRY_AGAIN if isinstance(error, OperatorError) else CANNOT_START) from None


def configure(prog: str, args: Sequence[str], defaults: Mapping[tuple[str, str], object] | None = None) -> conf.Config:
    """Return the configuration that `args` lead to, with the log set up; ends the program when it cannot be used.

    `defaults` replaces defaults for this program alone, see `conf.load`.
    """
    with explained(prog):
        config = conf.load(args, prog=prog, defaults=defaults)
    logging.set_up(config.raw)
    for sentence in blazar.ineffective(config.raw):
        log.warning(sentence)
    return config
