"""`limit`, `marker`, `sort` and filters: one mechanism for all lists, from 1.3 on (feature L2, decision 0072)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from leasehold.api.versions import FILTERS
from leasehold.model.errors import InvalidInputError
from leasehold.model.paging import WHOLE, PageRequest, Sort

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from leasehold.api.call import Call

LONGEST_PAGE: Final = 1_000
LONGEST_VALUE: Final = 255
PAGES: Final = ("limit", "marker", "sort")
"""The query keys of every list that is paged and sorted."""
DIRECTIONS: Final = {"": False, "asc": False, "desc": True}


@dataclass(frozen=True, slots=True)
class ListKeys:
    """By which keys of its items a list is filtered and sorted; without `sorts` it keeps its order.

    A filter is a text that the item has to show, or one of several by commas; those in `switches` are true or false.
    """

    texts: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    sorts: tuple[str, ...] = ()

    @property
    def query(self) -> tuple[str, ...]:
        """The query keys that it adds to those of the route, from 1.3 on."""
        paging = PAGES if self.sorts else PAGES[:2]
        return (*paging, *self.texts, *self.switches)

    def asked(self, call: Call) -> PageRequest:
        """Return the part of the list that the query asks for; before 1.3 all. Raises InvalidInputError with the key.

        The marker is the last item of the page before, and has to be in the list still.
        """
        if call.version < FILTERS:
            return WHOLE
        limit, marker = asked_page(call)
        sort = asked_sort(call, self.sorts) if self.sorts else None
        return PageRequest(limit, marker, sort, dict(self._wanted(call)))

    def _wanted(self, call: Call) -> Iterator[tuple[str, frozenset[str | bool]]]:
        for key in self.texts:
            text = call.query(key)
            if text is not None:
                if not (text.isprintable() and len(text) <= LONGEST_VALUE):
                    message = f"{key} has to be printable text of at most {LONGEST_VALUE} characters."
                    raise InvalidInputError(message, field=key)
                yield key, frozenset({text, *(word.strip() for word in text.split(","))})
        for key in self.switches:
            wanted = call.query_switch(key)
            if wanted is not None:
                yield key, frozenset({wanted})


def asked_words(call: Call, key: str, known: Collection[str], what: str) -> frozenset[str]:
    """Return the words of a query key, one or several by commas, in any case; none if it is absent.

    Raises InvalidInputError for one that is empty or not known; `what` is what it is not, as part of a sentence.
    """
    by_lower = {word.lower(): word for word in known}
    text = call.query(key)
    asked = () if text is None else [word.strip() for word in text.split(",")]
    unknown = [word for word in asked if word.lower() not in by_lower]
    if unknown:
        message = f"{unknown[0][:40]!r} is no {what}; these exist: {', '.join(known)}."
        raise InvalidInputError(message, field=key)
    return frozenset(by_lower[word.lower()] for word in asked)


def asked_page(call: Call) -> tuple[int | None, str | None]:
    """Return the limit and the marker of the query; raises InvalidInputError for an invalid one."""
    return call.query_number("limit", 1, LONGEST_PAGE), call.query_id("marker")


def asked_sort(call: Call, keys: Iterable[str]) -> Sort | None:
    """Return by what the query sorts a list, None: not at all; raises InvalidInputError for what is no key of it."""
    text = call.query("sort")
    if text is None:
        return None
    key, _, direction = text.partition(":")
    if key not in keys or direction not in DIRECTIONS:
        message = f"sort has to be one of {', '.join(keys)}, and may end in :asc or :desc."
        raise InvalidInputError(message, field="sort")
    return Sort(key, descending=DIRECTIONS[direction])
