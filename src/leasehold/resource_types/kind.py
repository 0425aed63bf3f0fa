"""The pure half of a resource type: it reads requests and chooses resources (design §6).

A kind knows the request of its type as a typed value. Only the database and the API see it as JSON: `load` and `store`
translate. The core never looks inside a request.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from leasehold.model.budget import nothing_to_check
from leasehold.model.errors import InvalidInputError
from leasehold.model.properties import count_values, names, parse
from leasehold.model.use import Use
from leasehold.resource_types.conditions import condition_of, newly_named
from leasehold.resource_types.fields import known_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from _typeshed import DataclassInstance
    from numpy import bool_
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.allocation import Pick
    from leasehold.model.properties import Expression
    from leasehold.model.refusal import Refusal
    from leasehold.model.reservation import Reservation
    from leasehold.model.windows import Window

R = TypeVar("R")
"""The typed request of one resource type: a frozen dataclass, so that equal requests compare equal."""


class Explain(IntEnum):
    """How much a refusal has to say: that it is one; the amounts that there are; the nearest window as well."""

    NOTHING = 0
    AMOUNTS = 1
    WINDOW = 2


@dataclass(frozen=True, slots=True)
class Search(Generic[R]):
    """Where and when to look for resources.

    `snapshot` does not hold this lease's own allocations; `held` are those it has now and should keep where it can.
    `firm` means they are in use: none may be given up. `before` is the request that an amendment replaces.
    `window` is what lies ahead of the asked window, whose whole length is `length`; `margin` is the cleaning time to
    keep free on both sides. `explain` says how much a refusal has to say; its nearest window need fit this reservation
    alone. `check` is called between the steps of a search, and raises TakesTooLongError. `hidden` are private
    properties that the caller may not ask about.
    """

    snapshot: Snapshot
    window: Window
    length: timedelta
    held: tuple[Pick, ...] = ()
    firm: bool = False
    before: R | None = None
    margin: timedelta = timedelta(0)
    explain: Explain = Explain.WINDOW
    check: Callable[[], None] = nothing_to_check
    hidden: frozenset[str] = frozenset()

    @property
    def padded(self) -> Window:
        """The window with the cleaning time on both sides."""
        return self.window.widened(self.margin)


class Kind(ABC, Generic[R]):
    """One kind of thing that can be leased. All methods are pure.

    The defaults are for a type whose request is a frozen dataclass of JSON values with an `amount`, and that asks for
    no properties.
    """

    name: ClassVar[str]
    """The name that requests use, e.g. `physical:host`."""
    pool: ClassVar[str]
    """The pool that it takes from; hosts, instances and flavors share one."""
    noun: ClassVar[str]
    """What its amounts count, in the plural, e.g. `hosts`; for people."""
    schema: ClassVar[type[BaseModel]]
    """The shape of a request, for the OpenAPI document."""
    request_type: ClassVar[type[Any]]
    """`R`: a frozen dataclass."""

    whole: ClassVar[str | None] = None
    """The amount of `Use` in which a whole resource of the pool counts 1; None where no project limit counts it."""

    @abstractmethod
    def parse(self, raw: Mapping[str, Any]) -> R:
        """Read a request; raises InvalidInputError with the field's name. Unknown keys are ignored."""

    def store(self, request: R) -> dict[str, Any]:
        """Return the request as JSON values; `load` returns an equal request from them."""
        return asdict(cast("DataclassInstance", request))

    def load(self, stored: Mapping[str, Any]) -> R:
        """Return the request that `store` wrote, also one of an older version."""
        return cast("R", self.request_type(**known_fields(self.request_type, stored)))

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> R:
        """Return the new request of a reservation with the given keys changed; raises when it may not change now."""
        return self.parse({**reservation.request, **raw})

    def amount(self, request: R) -> int:
        """Return the most that the request may get, in `noun`."""
        return int(cast("Any", request).amount)

    def use(self, request: R) -> Use:
        """Return the most that the request may use of what a project may be limited in."""
        return Use() if self.whole is None else Use(**{self.whole: self.amount(request)})

    def exactly(self, request: R, amount: int) -> R:
        """Return the request for `amount`, neither more nor less: how a failed resource is replaced."""
        return cast("R", replace(cast("Any", request), amount=amount))

    def expressions(self, request: R) -> Mapping[str, str]:  # noqa: ARG002 - a default
        """Return the property expressions of the request by field; empty where it has none."""
        return {}

    def conditions(self, request: R) -> Collection[Expression]:
        """Return what `allocate` will ask of `Snapshot.matching`: that is evaluated before the pool is locked."""
        expressions = self.expressions(request)
        return (condition_of(expressions),) if expressions else ()

    def comparisons(self, request: R) -> int:
        """Return with how many values the conditions compare; a request may have a limited number."""
        return sum(map(count_values, self.conditions(request)))

    @abstractmethod
    def allocate(self, request: R, search: Search[R]) -> Sequence[Pick] | Refusal:
        """Choose resources. Whatever is returned is free throughout the padded window."""

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return this type's own fields of the v1 answer (contract http-api §5.1)."""
        return dict(reservation.request)

    def matching(self, request: R, search: Search[R]) -> NDArray[bool_]:
        """Return which enrolled resources meet all expressions of a request, which share one namespace.

        Raises InvalidInputError when an expression names a property that no resource has: a typing error would
        otherwise look like a full cloud. The message does not list the properties, because some are private; a
        property that is hidden from the caller is refused in the same words, unless the expression was there before
        (contract resources §0.1).
        """
        snapshot, expressions = search.snapshot, self.expressions(request)
        condition, known = condition_of(expressions), snapshot.known_names()
        unknown = names(condition) - known if known else frozenset()
        if known and search.hidden:
            before = {} if search.before is None else self.expressions(search.before)
            unknown |= search.hidden & frozenset().union(*newly_named(expressions, before).values())
        if unknown:
            name = min(unknown)
            field = next(field for field, text in expressions.items() if name in names(parse(text, field)))
            message = f"No host has a property ${name}; GET /v1/os-hosts/properties lists those that can be asked for."
            raise InvalidInputError(message, field=field)
        return snapshot.matching(condition, search.check) & snapshot.enrolled()
