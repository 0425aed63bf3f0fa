"""Why a request was refused, and what would have been granted."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from leasehold.model.estimate import by_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.model.delay import Delay
    from leasehold.model.estimate import Estimate
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class FilterCount:
    """One filter of the search: its name, and how many resources remain after it."""

    name: str
    remaining: int


class NoWindow(StrEnum):
    """Why a refusal offers no other window; where none was looked for, it says nothing about it."""

    NEVER = "never"
    STARTED = "started"
    LIMITS = "limits"
    UNRELEASED = "unreleased"
    TIME = "time"
    KEPT = "kept"


_SENTENCES = {
    NoWindow.STARTED: "The lease has started, so it cannot move to another window.",
    NoWindow.LIMITS: "The nearest window exceeds the limits on leases.",
    NoWindow.UNRELEASED: "Some resources of ended leases are not released yet; try again later.",
    NoWindow.KEPT: "A swap keeps the window of the lease; try again when another one is free.",
    NoWindow.TIME: "The search for the nearest window ran out of time; try later dates, or ask for less.",
}
_ON_DISABLED = (
    "It would fit on resources that an administrator has disabled: enable them if they can be used again. "
    "Administrators may make a lease of their own on them, from microversion 1.2 on."
)


_MINUTE: Final = timedelta(minutes=1)
_TO_ANSWER: Final = timedelta(minutes=5)
"""How long a client may take to ask again: what sleeps is ready so long after it is needed, so that much later."""


def extension_sentence(latest_end: datetime) -> str:
    """Say how late a lease could end that asks for a later end."""
    return f"It can be extended until {latest_end:%Y-%m-%d %H:%M:%S} UTC."


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal with its explanation (feature G9, idea 16).

    `asked` and `largest` count what the request counts: hosts, instances or addresses. `largest` is what would
    fit in the asked window, beside the other reservations of the lease. `nearest` is the first window of the asked
    length in which the whole lease fits; if it is None, `no_window` has the reason, or None if none was looked for.
    `steps` count the resources after each filter, from all resources to the free ones. `alone` is what would fit
    without the other reservations, and `steps` then count so; None if that is `largest`. `latest_end` is how late a
    lease that asks for a later end could end with all that it asks for; None where that is no extension.
    `fits_on_disabled` says that the whole lease would fit if no resource were disabled; only operators are told.
    `delay` says that it would fit if everything were ready, and `may_wait` that the request can say how long it waits.
    `estimates` are what features say about the lease with `nearest`, `largest` or `latest_end`, by these names.
    """

    resource_type: str
    noun: str
    asked: int
    largest: int
    window: Window
    nearest: Window | None = None
    steps: tuple[FilterCount, ...] = field(default_factory=tuple)
    no_window: NoWindow | None = None
    latest_end: datetime | None = None
    fits_on_disabled: bool = False
    alone: int | None = None
    delay: Delay | None = None
    may_wait: bool = False
    estimates: Mapping[str, Sequence[Estimate]] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """Say in a few sentences what is missing and what to do next."""
        extension = [] if self.latest_end is None else [extension_sentence(self.latest_end), *self._said("latest_end")]
        return " ".join([self._missing, *extension, *([_ON_DISABLED] if self.fits_on_disabled else [])])

    def _said(self, offer: str) -> list[str]:
        """Return the sentences of features about a counter-offer."""
        return [each.sentence for each in self.estimates.get(offer, ())]

    @property
    def _missing(self) -> str:
        counted = ", ".join(f"{step.remaining} {step.name}" for step in self.steps)
        free = self.largest if self.alone is None else self.alone
        text = f"Not enough {self.noun} available: {self.asked} asked, {free} free ({counted})"
        text += "." if self.alone is None else f", {self.largest} beside the other reservations of the lease."
        if self.nearest is not None:
            start = f"{self.nearest.start:%Y-%m-%d %H:%M:%S} UTC"
            found = f"{text} The nearest window in which {self.asked} fit starts at {start}.{self._wait}"
            return " ".join([found, *self._said("nearest")])
        if self.no_window in _SENTENCES:
            text = f"{text} {_SENTENCES[self.no_window]}"
        if self.largest:
            return " ".join([f"{text} Ask for at most {self.largest}.", *self._said("largest")])
        if self.alone is not None:
            most = f"at most {self.alone}, and for " if self.alone < self.asked else ""
            return f"{text} Ask for {most}less in the other reservations."
        if self.no_window is not NoWindow.NEVER or self.latest_end is not None:
            return text
        # What matches and does not work may work again.
        left = {step.name: step.remaining for step in self.steps}
        hope = "" if left.get("matching") != left.get("healthy") else "; waiting does not help"
        return f"{text} Change the properties you ask for{hope}."

    @property
    def ready_within(self) -> timedelta | None:
        """How much later the lease has to be allowed to start for what is not ready; None: it cannot be asked for."""
        later = None if self.delay is None or not self.may_wait else self.delay.later
        return None if later is None else -(-later // _MINUTE) * _MINUTE + _TO_ANSWER

    @property
    def _wait(self) -> str:
        if self.delay is None or self.delay.ready_in is None:
            return ""
        hours, minutes = divmod(-(-self.delay.ready_in // _MINUTE), 60)
        text = f" What would do is ready in {f'{hours} h ' if hours else ''}{minutes} min."
        if self.ready_within is None:
            return f"{text} Ask for a start some minutes after that."
        return f"{text} To get it then, send ready_within_seconds {int(self.ready_within.total_seconds())} as well."

    def as_details(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready values, dates in ISO 8601."""
        return {
            "resource_type": self.resource_type,
            "asked": self.asked,
            "largest": self.largest,
            "window": {"start": self.window.start.isoformat(), "end": self.window.end.isoformat()},
            "nearest": self.nearest and {"start": self.nearest.start.isoformat(), "end": self.nearest.end.isoformat()},
            "no_window": None if self.nearest or self.no_window is None else str(self.no_window),
            "remaining": [{"filter": step.name, "resources": step.remaining} for step in self.steps],
            **({"latest_end": self.latest_end.isoformat()} if self.latest_end else {}),
            **({"fits_on_disabled": True} if self.fits_on_disabled else {}),
            **({} if self.alone is None else {"alone": self.alone}),
            **({"ready_within_seconds": int(self.ready_within.total_seconds())} if self.ready_within else {}),
            **({"estimates": {key: by_name(said) for key, said in self.estimates.items()}} if self.estimates else {}),
        }
