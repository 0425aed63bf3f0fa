"""Draws the plots from measured or stored rows: lines over growing sizes, courses over time,
and the used share of each budget.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from bench.row import Course, Row

mpl.use("Agg")  # Pictures in files; there may be no screen.

COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255", "#777777")
"""Okabe and Ito's palette, and two more, which colour-blind readers can tell apart; markers distinguish lines too."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
BUDGET: Final = "#000000"
MOST_WITHIN: Final = 7
"""With more lines the legend is beside the plot."""
GREY: Final = "#777777"
USED: Final = "budgets.png"
FIRST_DECADE: Final = 1_000
"""Up to this value, an axis that begins at zero is linear."""


@dataclass(frozen=True, slots=True)
class Plot:
    """The labels and scales of one plot; `baseline` labels the line of the figures that its rows compare with.

    `x_scale` is log, linear, or symlog where zero is on the axis. With `times`, a label at the end of each line gives
    the ratio of its last figure to its first.
    """

    title: str
    x: str
    y: str
    x_scale: Literal["log", "linear", "symlog"] = "log"
    y_scale: Literal["log", "linear"] = "log"
    baseline: str = ""
    times: bool = False


PLOTS: Final[Mapping[str, Plot]] = {
    "decision": Plot("A decision, 10,000 hosts", "current and future allocations", "processor time, ms"),
    "decision-hosts": Plot("A decision, 20 allocations on each host", "hosts", "processor time, ms"),
    "earliest": Plot("The earliest slot, 10,000 hosts", "current and future allocations", "processor time, ms"),
    "earliest-hosts": Plot("The earliest slot, 20 allocations on each host", "hosts", "processor time, ms"),
    "memory": Plot(
        "Memory of a process, 10,000 hosts", "current and future allocations", "resident memory, MiB", y_scale="linear"
    ),
    "post": Plot(
        "POST of a lease, MariaDB",
        "leases in the database",
        "milliseconds",
        "symlog",
        "linear",
        "trivial request + bare durable commit",
    ),
    "flat": Plot("One request of each kind, 10,000 hosts, MariaDB", "current and future allocations", "milliseconds"),
    "list": Plot("GET of all leases, MariaDB", "leases in the list", "milliseconds"),
    "admission": Plot(
        "Leases granted, 8 clients, one pool",
        "API processes",
        "leases a second",
        "linear",
        "linear",
        "bare durable commits, one connection",
        times=True,
    ),
    "crowd": Plot("Requests of one pool, 1 API process, MariaDB", "clients", "a second", y_scale="linear"),
    "claims": Plot("Leases started, MariaDB", "managers", "leases a second", "linear", "linear", times=True),
    "now": Plot("What spares change for those who ask for now", "idle hosts that stay on", "%", "linear", "linear"),
}
"""By name, as in `Point.plot`."""
ALONE: Final = ("now",)
"""Those on a page of their own."""
COURSES: Final[Mapping[str, str]] = {
    "month": "The hosts in a simulated month",
    "month-asleep": "The hosts in the same month, when those that nobody needs sleep",
    "month-filled": "The hosts in the same month, with fillers and flexible leases as well",
    "month-lent": "The hosts in the same month, when those who are done lend what is left as well",
}
"""The titles of the plots over time, by name, as in `Course.plot`."""
LAYER_COLOURS: Final = (
    "#0072B2",
    "#009E73",
    "#56B4E9",
    "#D55E00",
    "#BBBBBB",
    "#E69F00",
    "#CC79A7",
    "#404060",
    "#F4F4F4",
)
ABOVE: Final = "#000000"


def draw(rows: Iterable[Row], folder: Path) -> dict[str, str]:
    """Draw the plots of these rows, and return their titles by file name; skips a plot with too few points."""
    rows = list(rows)
    folder.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, str] = {}
    if budgeted := [row for row in rows if row.budget and not row.exact]:
        drawn[USED] = "How much of each budget is used"
        _draw_used(budgeted, drawn[USED]).savefig(folder / USED)
    return drawn | draw_lines(rows, folder) | draw_courses(rows, folder)


def draw_lines(rows: Iterable[Row], folder: Path) -> dict[str, str]:
    """Draw the plots of lines of these rows, and return their titles by file name."""
    rows, drawn = list(rows), {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, plot in PLOTS.items():
        lines = _lines(rows, name)
        if any(len(points) > 1 for points in lines.values()):
            drawn[f"{name}.png"] = plot.title
            _draw_lines(plot, lines).savefig(folder / f"{name}.png")
    return drawn


def draw_courses(rows: Iterable[Row], folder: Path) -> dict[str, str]:
    """Draw the plots over time of these rows, and return their titles by file name."""
    rows, drawn = list(rows), {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, title in COURSES.items():
        courses = [row.course for row in rows if row.course is not None and row.course.plot == name]
        if courses:
            drawn[f"{name}.png"] = title
            _draw_courses(title, courses).savefig(folder / f"{name}.png")
    return drawn


def _lines(rows: Sequence[Row], plot: str) -> dict[str, list[tuple[float, Row]]]:
    """Return the rows on each line of a plot, in the order of the axis."""
    lines: defaultdict[str, list[tuple[float, Row]]] = defaultdict(list)
    for row in rows:
        if row.point is not None and row.point.plot == plot:
            lines[row.point.line].append((row.point.x, row))
    return {line: sorted(points, key=lambda point: point[0]) for line, points in lines.items()}


def _draw_courses(title: str, courses: Sequence[Course]) -> Figure:
    """Draw the layers on each other, hour by hour; the last course is a line of its own below them."""
    *layers, line = courses
    figure = Figure(figsize=(9.0, 5.2), dpi=110, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    days = [hour / 24 for hour in range(len(line.hourly))]
    for axes in (upper, lower):
        axes.set_xlim(0, max(days))
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.tick_params(labelsize=8.5)
    values, names = [each.hourly for each in layers], [each.layer for each in layers]
    upper.stackplot(days, *values, labels=names, colors=LAYER_COLOURS, step="post", linewidth=0)
    upper.set_ylim(0, max(map(sum, zip(*values, strict=True))))
    upper.set_ylabel("hosts")
    upper.set_title(title)
    upper.legend(
        frameon=False,
        fontsize=8,
        ncols=-(-len(names) // 2),
        loc="upper center",
        bbox_to_anchor=(0.5, -0.02),
        borderaxespad=0,
    )
    lower.step(days, line.hourly, where="post", color=ABOVE, linewidth=0.9)
    lower.set_ylim(bottom=0)
    lower.set_ylabel(line.layer)
    lower.set_xlabel("day")
    return figure


def _draw_lines(plot: Plot, lines: Mapping[str, list[tuple[float, Row]]]) -> Figure:
    figure = Figure(figsize=(6.4, 4.2), dpi=110, layout="constrained")
    axes = figure.subplots()
    highest = max(points[-1][1].measured for points in lines.values())
    for number, (line, points) in enumerate(lines.items()):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        dashes = "--" if line.endswith("p50") and len(lines) > 1 else "-"
        xs, ys = [x for x, _ in points], [row.measured for _, row in points]
        axes.plot(xs, ys, label=line, color=colour, marker=marker, markersize=5, linestyle=dashes)
        if plot.baseline and (compared := [(x, row.baseline) for x, row in points if row.baseline is not None]):
            label = plot.baseline if len(lines) == 1 else f"{line}: {plot.baseline}"
            axes.plot(*zip(*compared, strict=True), label=label, color=colour, linestyle=":")
        if plot.times:
            end = (xs[-1], ys[-1])
            times = f"{ys[-1] / ys[0]:.1f} x"
            # The highest line has its label above the end, the others below, so that labels do not overlap.
            side = "bottom" if ys[-1] == highest else "top"
            axes.annotate(times, end, xytext=(7, 0), textcoords="offset points", va=side, color=colour, fontsize=9)
    _draw_budget(axes, lines)
    _dress(axes, plot, sorted({x for points in lines.values() for x, _ in points}))
    return figure


def _draw_budget(axes: Axes, lines: Mapping[str, list[tuple[float, Row]]]) -> None:
    """Draw the budgets: a line where points of different places have one, else a bar for each."""
    budgets = sorted({(x, row.budget) for points in lines.values() for x, row in points if row.budget is not None})
    if len(budgets) == 1:
        axes.plot(*budgets[0], label="budget", color=BUDGET, marker="_", markersize=26, markeredgewidth=2, linestyle="")
    elif budgets:
        style = (0, (5, 2)) if len({x for x, _ in budgets}) == len(budgets) else ""
        axes.plot(*zip(*budgets, strict=True), label="budget", color=BUDGET, marker="_", markersize=14, linestyle=style)


def _dress(axes: Axes, plot: Plot, xs: Sequence[float]) -> None:
    axes.set_title(plot.title)
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y)
    axes.set_xscale(plot.x_scale, **({"linthresh": FIRST_DECADE} if plot.x_scale == "symlog" else {}))
    axes.set_yscale(plot.y_scale)
    axes.set_xticks(xs)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    if plot.y_scale == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:g}"))
    axes.grid(visible=True, which="major", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(labelsize=8.5)
    legend = axes.legend(frameon=False, fontsize=8, handlelength=3.5)
    if len(axes.lines) > MOST_WITHIN:
        legend.set_loc("center left")
        legend.set_bbox_to_anchor((1.0, 0.5))


def _draw_used(rows: Sequence[Row], title: str) -> Figure:
    """Draw a bar for the used share of each budget; a bar beyond the line is a missed budget."""
    figure = Figure(figsize=(9.0, 0.9 + 0.27 * len(rows)), dpi=110, layout="constrained")
    axes = figure.subplots()
    shares = [100 * row.measured / (row.budget or 1) for row in rows]
    colours = [COLOURS[0] if row.verdict == "kept" else COLOURS[5] for row in rows]
    axes.barh(range(len(rows)), shares, color=colours, height=0.65)
    axes.axvline(100, color=BUDGET, linewidth=1.5, linestyle=(0, (5, 2)))
    for place, share in enumerate(shares):
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        axes.text(share + 1, place, f"{share:.0f} %", va="center", fontsize=8, color=GREY, bbox=behind)
    axes.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, max(115.0, 1.1 * max(shares)))
    axes.set_xlabel("% of the budget; missed beyond the dashed line")
    axes.set_title(title)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure
