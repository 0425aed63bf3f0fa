"""One line of the results."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """The position of a figure: on which plot, on which of its lines, and at which `x`."""

    plot: str
    line: str
    x: float


@dataclass(frozen=True, slots=True)
class Course:
    """How a figure went over time: its value in each hour, and the layer of the plot that shows them."""

    plot: str
    layer: str
    hourly: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure, in `unit`.

    `budget` is its maximum, or with `exact` its required value; a row without one is for comparison. `baseline` is the
    figure that it compares with, in the same unit, and `against` names that. `point` is its position on a plot,
    `course` how it went over time.
    """

    name: str
    measured: float
    unit: str
    budget: float | None = None
    baseline: float | None = None
    against: str = ""
    exact: bool = False
    point: Point | None = None
    course: Course | None = None

    @property
    def verdict(self) -> str:
        """Whether the budget is kept; empty where there is none."""
        if self.budget is None:
            return ""
        kept = self.measured == self.budget if self.exact else self.measured <= self.budget
        return "kept" if kept else "MISSED"

    @property
    def comparison(self) -> str:
        """The ratio of the measured figure to the baseline, and the baseline."""
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
