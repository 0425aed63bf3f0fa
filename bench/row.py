"""One line of the results."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """Where a figure lies on a plot: on which one, on which of its lines, and at which `x`."""

    plot: str
    line: str
    x: float


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure, in `unit`.

    `budget` is what it may be at most, or exactly where `exact`; without one it is there to be compared. `baseline` is
    what it is compared with, in the same unit, and `against` says what that is. `point` is its place on a plot.
    """

    name: str
    measured: float
    unit: str
    budget: float | None = None
    baseline: float | None = None
    against: str = ""
    exact: bool = False
    point: Point | None = None

    @property
    def verdict(self) -> str:
        """Whether the budget is kept; empty where there is none."""
        if self.budget is None:
            return ""
        kept = self.measured == self.budget if self.exact else self.measured <= self.budget
        return "kept" if kept else "MISSED"

    @property
    def comparison(self) -> str:
        """The baseline, and how many times it lies above or below what was measured."""
        if self.baseline is None:
            return self.against
        if not self.measured or not self.baseline:
            return f"{self.against} {number(self.baseline)}"
        ratio = self.measured / self.baseline
        times = f"{ratio:.2f} x" if ratio >= 0.5 else f"1/{1 / ratio:.0f} of"
        return f"{times} {self.against} {number(self.baseline)} {self.unit}"


def number(value: float) -> str:
    """Return three significant digits, and whole numbers as they are."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
