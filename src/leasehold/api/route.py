"""A route of the API: one method of one path, and what the pipeline has to know of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from inspect import getdoc
from typing import TYPE_CHECKING, Any, NamedTuple

from leasehold.api import versions
from leasehold.api.handlers.lease_then import AS_OF
from leasehold.api.policies.base import PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from oslo_policy import policy

    from leasehold.api.call import Call, Reply
    from leasehold.api.models.base import RequestModel
    from leasehold.api.policies.base import Rule
    from leasehold.api.policies.enforcer import Owned
    from leasehold.api.versions import Version
    from leasehold.leasing.service import Service
    from leasehold.model.refused import Operation

OK, CREATED, ACCEPTED, GONE = HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT
CHOICES = HTTPStatus.MULTIPLE_CHOICES


EVERY = ("all_projects",)
"""The query key of lists of what projects own."""


class Parameter(NamedTuple):
    """What the OpenAPI document says of a query key or a header: where it is, what it means, and its schema."""

    place: str
    meaning: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Noun:
    """What the id in a path is of: the path's variable, the handler's argument, and who finds it, or raises.

    What is `shared` counts as the caller's own for the rules.
    """

    variable: str
    argument: str
    find: Callable[[Service, str], Owned]
    shared: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path.

    A request is checked by `rules`, and some by those `within` the handler. The target of `rules` is the caller's own
    project, or the owner of what the path names, which the handler gets: a `noun`, or what has a `lease_id` or an
    `offer_id`. A route of the `past` takes deleted leases as well, and one that reads `as_of` does if that is sent.
    `public` routes ask for no identity and ignore microversions. `instant` routes are answered from memory, so they
    need no permit. `query` and `headers` name the query keys and headers that the handler reads, and `filters` the
    query keys that it reads from 1.3 on; with `open_query` it reads those of a resource type as well, and refuses
    others itself. `parameters` describes keys and headers that no other route has. `counts` says as what its refusals
    are counted. `answer` None means an empty answer, and `media_type` is that of the answer.
    """

    method: str
    path: str
    handler: Callable[..., Reply]
    rules: tuple[Rule, ...] = ()
    request: type[RequestModel] | None = None
    answer: Any = None
    success: HTTPStatus = OK
    media_type: str = "application/json"
    since: Version = versions.V1_0
    query: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    public: bool = False
    instant: bool = False
    open_query: bool = False
    past: bool = False
    counts: Operation | None = None
    noun: Noun | None = None
    within: tuple[Rule, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    def query_at(self, version: Version) -> tuple[str, ...]:
        """Return the query keys that the handler reads at this microversion."""
        return (*self.query, *(self.filters if version >= versions.FILTERS else ()))

    def shows_past(self, call: Call) -> bool:
        """Say whether the route takes a deleted lease in this request."""
        return self.past or (AS_OF in self.query_at(call.version) and call.query(AS_OF) is not None)

    @property
    def description(self) -> str:
        """What the handler says it does, for the OpenAPI document."""
        return getdoc(self.handler) or ""

    @property
    def summary(self) -> str:
        """The first clause of that."""
        return re.split(r"[.:;\n]", self.description, maxsplit=1)[0]


def rules_of(routes: Iterable[Route]) -> list[policy.RuleDefault]:
    """Return all rules of these routes, and what they consist of."""
    found: dict[Rule, list[policy.Operation]] = {}
    for route in routes:
        for each in (*route.rules, *route.within):
            found.setdefault(each, []).append({"path": route.path, "method": route.method})
    return [*PARTS, *(each.documented(requests) for each, requests in found.items())]


V1_2, V1_3 = (partial(Route, since=each) for each in (versions.V1_2, versions.V1_3))
