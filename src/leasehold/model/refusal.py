"""Why a request was refused, and what would have been granted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class Step:
    """One filter of the search: what it asks, and how many resources remain after it."""

    name: str
    remaining: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A "no" that explains itself (features C1, C10, G9, idea 16).

    `asked` and `largest` count what the request counts: hosts, instances or addresses. `largest` is what would
    fit in the asked window. `nearest` is the first window of the asked length in which the asked amount fits, or
    None when it never does, however long one waits. `steps` go from all resources to the free ones.
    """

    resource_type: str
    noun: str
    asked: int
    largest: int
    window: Window
    nearest: Window | None = None
    steps: tuple[Step, ...] = field(default_factory=tuple)

    @property
    def sentence(self) -> str:
        """Say in one or two sentences what is missing and what to do next."""
        counted = ", ".join(f"{step.remaining} {step.name}" for step in self.steps)
        text = f"Not enough {self.noun} available: {self.asked} asked, {self.largest} free ({counted})."
        if self.nearest is not None:
            start = f"{self.nearest.start:%Y-%m-%d %H:%M:%S} UTC"
            return f"{text} The nearest window in which {self.asked} fit starts at {start}."
        if self.largest:
            return f"{text} Ask for at most {self.largest}."
        return f"{text} Change the properties you ask for; waiting does not help."

    def as_details(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready values, dates in ISO 8601."""
        return {
            "resource_type": self.resource_type,
            "asked": self.asked,
            "largest": self.largest,
            "window": {"start": self.window.start.isoformat(), "end": self.window.end.isoformat()},
            "nearest": self.nearest and {"start": self.nearest.start.isoformat(), "end": self.nearest.end.isoformat()},
            "remaining": [{"filter": step.name, "resources": step.remaining} for step in self.steps],
        }
