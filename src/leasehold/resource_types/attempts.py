"""Trying all of something before saying what failed: one failure delays no other (design §5)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError, CloudTransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def do_all(steps: Iterable[Callable[[], object]], *, patient: bool = True) -> None:
    """Take every step in order, and raise what failed only then.

    With `patient` what may work later is raised first, because it is tried again sooner; without, last.
    """
    errors: list[CloudError] = []
    for step in steps:
        try:
            step()
        except CloudError as error:
            errors.append(error)
    for failure in sorted(errors, key=lambda each: isinstance(each, CloudTransientError), reverse=patient):
        raise failure


def for_each(things: Iterable[str], work: Callable[[str], object], *, patient: bool = False) -> None:
    """Do something for every host or server, in the order of their names; see `do_all`."""
    do_all([partial(work, thing) for thing in sorted(things)], patient=patient)
