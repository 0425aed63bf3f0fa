"""The kind of a resource type, its pure half: it parses requests and chooses resources (design §6).

A kind represents its request as a typed value. The database and the API use JSON: `load` and `store` convert. The core
treats a request as opaque.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from leasehold.calendar.profile import Units
from leasehold.model.budget import nothing_to_check
from leasehold.model.errors import DuplicateError, InvalidInputError, NotEnoughError
from leasehold.model.properties import count_values, matches, names, parse
from leasehold.model.use import Use
from leasehold.resource_types.conditions import check_orderings, condition_of, newly_named
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
    from leasehold.model.resource import Resource
    from leasehold.model.terms.ending import Ending
    from leasehold.model.windows import Window

R = TypeVar("R")
"""The typed request of one resource type: a frozen dataclass, so that equal requests compare equal."""


class Explain(IntEnum):
    """How much a refusal explains: nothing; the available amounts; the amounts and the nearest window."""

    NOTHING = 0
    AMOUNTS = 1
    WINDOW = 2


@dataclass(frozen=True, slots=True)
class Search(Generic[R]):
    """Where and when to look for resources.

    `snapshot` excludes this lease's own allocations; `held` are the picks it has now and should keep if possible.
    `firm` means they are in use: none may be given up. `before` is the request that an amendment replaces.
    `window` is the part of the requested window that lies ahead, and `length` the length of the whole; `margin` is the
    cleaning time to keep free on both sides. `explain` says how much a refusal explains; its nearest window has to fit
    this reservation only. `check` is called between the steps of a search, and raises TakesTooLongError. `hidden` are
    the private properties that the caller may not use. `staying` are the numbers of held resources that changed in the
    cloud and are kept all the same: they count as fitting, for what is held there and no more. `beside` is what the
    reservation has and keeps besides what is chosen: a layout counts it in.
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
    staying: frozenset[int] = frozenset()
    beside: tuple[Pick, ...] = ()

    @property
    def padded(self) -> Window:
        """The window with the cleaning time on both sides."""
        return self.window.widened(self.margin)


class Kind(ABC, Generic[R]):
    """One kind of resource that can be leased. All methods are pure.

    The defaults are for a type whose request is a frozen dataclass of JSON values with an `amount` and without property
    expressions.
    """

    name: ClassVar[str]
    """The name that requests use, e.g. `physical:host`."""
    pool: ClassVar[str]
    """The pool of its resources; hosts, instances and flavors share one."""
    noun: ClassVar[str]
    """The unit of its amounts in messages, in the plural, e.g. `hosts`."""
    singular: ClassVar[str]
    """The noun for one resource, e.g. `host`."""
    id_name: ClassVar[str] = "resource_id"
    """What errors call the id of a resource (contract http-api §3)."""
    enrolled_as: ClassVar[str] = ""
    """The type under which its resources are enrolled, if that is another one."""
    identifying: ClassVar[frozenset[str]] = frozenset({"name"})
    """The attributes, besides ALWAYS_IDENTIFYING, that identify a single resource."""
    public: ClassVar[bool] = False
    """Whether everybody may know which of its resources is which; otherwise only who may list hosts (decision 0018)."""
    discovered: ClassVar[frozenset[str]] = frozenset()
    """The attributes from the cloud that every caller may use in an expression."""
    not_enough: ClassVar[type[NotEnoughError]] = NotEnoughError
    """The error for a refusal."""
    schema: ClassVar[type[BaseModel]]
    """The shape of a request: the OpenAPI document shows it, and `parse` and `amend` get no other keys (`asked`)."""
    request_type: ClassVar[type[Any]]
    """`R`: a frozen dataclass."""

    counts: ClassVar[frozenset[str]] = frozenset({"amount"})
    """The fields of the schema that say how many are asked for; alarms and questions about availability need none."""
    most_field: ClassVar[str] = "amount"
    """The field of the request that says how many it may get at most."""
    unconditional: ClassVar[Mapping[str, Any]] = {}
    """The fields that a question about availability may leave out, with the values that ask for nothing."""

    whole: ClassVar[str | None] = None
    """The field of `Use` in which a whole resource of the pool counts 1; None if no project limit counts it."""

    shared: ClassVar[bool] = True
    """Whether the projects that a lease is shared with use what it has, which has to be open to all of them then."""

    leased: ClassVar[bool] = True
    """Whether there are reservations of it; otherwise its resources are enrolled for something else, such as sleep."""

    healed: ClassVar[bool] = True
    """Whether healing replaces failed resources, and sets the flags; not where the request names its resources."""

    def duplicate(self, reference: str) -> DuplicateError:
        """Return the refusal of a resource that is enrolled already."""
        return DuplicateError(f"The {self.singular} {reference} is enrolled already; change its properties instead.")

    def described(self, description: Mapping[str, Any]) -> str:
        """Return what a description is about, for people."""
        return str(next(iter(description.values()), self.singular))

    @property
    def resources(self) -> str:
        """The type under which its resources are enrolled, which their property definitions have as well."""
        return self.enrolled_as or self.name

    def asked(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keys of a sent reservation that the schema has.

        The others never reach `parse` or `amend`, so that no kind reads a key that its schema does not name. From
        microversion 1.2 on the API refuses them.
        """
        if self.schema.model_config.get("extra") == "allow":
            return dict(sent)
        return {name: sent[name] for name in self.schema.model_fields if name in sent}

    @abstractmethod
    def parse(self, raw: Mapping[str, Any]) -> R:
        """Read a request; raises InvalidInputError with the field's name."""

    def one(self, resource: Resource) -> dict[str, Any]:  # noqa: ARG002 - a default
        """Return what a reservation asks for that is to have one resource, where that alone is offered."""
        return {**self.unconditional, **dict.fromkeys(self.counts & self.schema.model_fields.keys(), 1)}

    def store(self, request: R) -> dict[str, Any]:
        """Return the request as JSON values; `load` returns an equal request from them."""
        return {each.name: getattr(request, each.name) for each in fields(cast("DataclassInstance", request))}

    def load(self, stored: Mapping[str, Any]) -> R:
        """Return the request that `store` wrote, possibly in an older version."""
        return cast("R", self.request_type(**known_fields(self.request_type, stored)))

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> R:
        """Return a reservation's request with the given keys changed; raises LeaseholdError if that is not allowed."""
        return self.parse({**reservation.request, **raw})

    def check_ending(self, request: R, ending: Ending) -> None:
        """Raise InvalidInputError if a reservation with this request cannot end so."""

    def amount(self, request: R) -> int:
        """Return the most that the request may get, in `noun`."""
        return int(cast("Any", request).amount)

    def use(self, request: R) -> Use:
        """Return the most that the request may use of each amount that project limits count."""
        return Use() if self.whole is None else Use(**{self.whole: self.amount(request)})

    def exactly(self, request: R, amount: int) -> R:
        """Return the request for exactly `amount`; `heal` and offers use it."""
        return cast("R", replace(cast("Any", request), amount=amount))

    def without(self, request: R, amount: int, resource: Resource) -> R:  # noqa: ARG002 - a default
        """Return the request for exactly `amount`, after the reservation has lost a resource on request."""
        return self.exactly(request, amount)

    def heal(self, request: R, amount: int, search: Search[R]) -> Sequence[Pick] | Refusal:
        """Return `amount` picks for a reservation that lost resources, with those it holds; healing uses it.

        The amount is at most what the reservation was promised.
        """
        return self.allocate(self.exactly(request, amount), search)

    def expressions(self, request: R) -> Mapping[str, str]:  # noqa: ARG002 - a default
        """Return the property expressions of the request by field; empty if it has none."""
        return {}

    def conditions(self, request: R) -> Collection[Expression]:
        """Return the conditions that `allocate` passes to `Eligible.matching`: evaluated before the pool is locked."""
        expressions = self.expressions(request)
        return (condition_of(expressions),) if expressions else ()

    def fits(self, request: R, resource: Resource) -> bool:
        """Return whether a resource is what the request asks for, as `allocate` compares it, room and time aside.

        A reservation that has not begun moves away from a resource that changed in the cloud and no longer fits.
        """
        return matches(condition_of(self.expressions(request)), resource.values.get)

    def comparisons(self, request: R) -> int:
        """Return the number of values in the conditions; `leasing.bounds` limits it for a request."""
        return sum(map(count_values, self.conditions(request)))

    @abstractmethod
    def allocate(self, request: R, search: Search[R]) -> Sequence[Pick] | Refusal:
        """Return picks that are free throughout the padded window, or a refusal."""

    def units(self, request: R, search: Search[R]) -> Units:
        """Return what availability counts for a request, whatever amount it asks for: by default whole resources.

        Raises InvalidInputError as `allocate` does.
        """
        return Units(self.matching(request, search))

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return this type's own fields of the v1 answer (contract http-api §5.1)."""
        return dict(reservation.request)

    def matching(self, request: R, search: Search[R]) -> NDArray[bool_]:
        """Return the mask of enrolled resources that meet all expressions of a request, which share one namespace.

        Raises InvalidInputError when an expression names a property that no resource has: a typing error would
        otherwise look like a full cloud. A property hidden from the caller gives the same error, unless the expression
        is unchanged (contract resources §0.1). Raises the error of `check_orderings` as well.
        """
        snapshot, expressions = search.snapshot, self.expressions(request)
        before = {} if search.before is None else self.expressions(search.before)
        condition, known = condition_of(expressions), snapshot.eligible.known_names()
        unknown = names(condition) - known if known else frozenset()
        if known and search.hidden:
            unknown |= search.hidden & frozenset().union(*newly_named(expressions, before).values())
        if unknown:
            name = min(unknown)
            field = next(field for field, text in expressions.items() if name in names(parse(text, field)))
            path = f"/v1/availability/properties?resource_type={self.name}"
            message = f"No {self.singular} has a property ${name}. GET {path} lists those that can be asked for."
            raise InvalidInputError(message, field=field, details={"unknown_property": name})
        check_orderings(expressions, before, snapshot.eligible.values_of)
        return snapshot.eligible.matching(condition, search.check) & snapshot.eligible.enrolled()
