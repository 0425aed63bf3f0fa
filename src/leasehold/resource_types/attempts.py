"""Run all steps before raising an error, so that one failure does not prevent the other steps (design §5)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError, CloudTransientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def do_all(steps: Iterable[Callable[[], object]], *, patient: bool = True) -> None:
    """Run every step in order, then raise one of the CloudErrors, if any.

    With `patient`, a CloudTransientError takes precedence, because it is retried sooner; without, a permanent error.
    """
    errors: list[CloudError] = []
    for step in steps:
        try:
            step()
        except CloudError as error:
            errors.append(error)
    for failure in sorted(errors, key=lambda each: isinstance(each, CloudTransientError), reverse=patient):
        raise failure


def for_each(things: Iterable[str], work: Callable[[str], object]) -> None:
    """Call `work` for every host or server, sorted by name; errors as in `do_all`."""
    do_all([partial(work, thing) for thing in sorted(things)])
