"""What reports about a time that is over are asked for: a window, whose, and in which form."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from leasehold.api.call import Text
from leasehold.api.policies.base import ADMIN
from leasehold.model.errors import ForbiddenError, InvalidDateError, InvalidInputError
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from leasehold.api.call import Call

USUAL: Final = timedelta(days=30)
"""The length of a report if no window is asked for."""
LONGEST: Final = timedelta(days=400)
_CSV_TYPE: Final = "text/csv; charset=utf-8"


def query_word(call: Call, key: str, words: Sequence[str]) -> str:
    """Return one of some words that a query key holds, the first if it is absent; raises InvalidInputError."""
    word = call.query(key) or words[0]
    if word not in words:
        raise InvalidInputError(f"{key} has to be one of {', '.join(words)}.", field=key)
    return word


def past_window(call: Call) -> Window:
    """Return the window [`from`, `to`), which ends at the present at the latest; raises InvalidDateError."""
    now = from_seconds(to_seconds(call.service.now()))
    end = min(call.query_date("to", now) or now, now)
    start = call.query_date("from", now) or end - USUAL
    if not start < now:
        raise InvalidDateError("from has to be over: what lies ahead is not known.", field="from")
    if not timedelta(0) < end - start <= LONGEST:
        message = f"to has to be after from, by at most {LONGEST.days} days."
        raise InvalidDateError(message, field="to")
    return Window(start, end)


def reported_project(call: Call, what: str) -> str | None:
    """Return the project whose report is asked for, None for all; raises InvalidInputError and ForbiddenError."""
    project, own = call.query_id("project_id"), call.listed_project()
    if project is None:
        return own
    if own is None:
        raise InvalidInputError("Ask for all_projects or for one project_id, not for both.", field="project_id")
    if project != own and not call.is_admin:
        message = f"Only administrators ask for the {what} of another project; leave project_id out."
        raise ForbiddenError(message, field="project_id", details={"rule": ADMIN})
    return project


def as_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Text:
    """Return rows as CSV with these columns; what is None is left empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return Text(text.getvalue().encode(), _CSV_TYPE)
