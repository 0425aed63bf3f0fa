"""What an API shows of all that two projects have, by every route of its OpenAPI document, compared with before."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from http import HTTPStatus
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import requests

from tests.harness.visitor import NEWEST
from tests.upgrade.estate import BORROWER, OURS, WITHIN, between

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

VERSIONS: Mapping[str, Mapping[str, str]] = {"1.3": NEWEST, "1.0": {}}
"""The headers of the newest microversion, and of Blazar's."""
RESOURCES = ("/v1/os-hosts", "/v1/floatingips", "/v1/resources/")
"""Beginnings of the paths of resources, which an administrator sees whosever they are, and a member mostly not."""
CALLERS = ((OURS, "1.3", "/"), (OURS, "1.0", ("/v1/leases", "/v1/os-hosts", "/v1/floatingips")), (BORROWER, "1.3", "/"))
"""Which project asks, at which microversion, and how the paths begin."""
TIMELINE = "/v1/timeline"
_FAR = between(200, 300)
_WINDOW = {"from": _FAR["start_date"], "to": _FAR["end_date"]}
QUERIES = {
    "/v1/availability": _WINDOW,
    "/v1/regions/availability": _WINDOW,
    TIMELINE: _WINDOW,
    "/v1/events": {"limit": "1000"},
}
NOT_ASKED = {
    "/": "it is about the program",
    "/versions": "it is about the program",
    "/healthcheck": "it is about the program",
    "/v1/openapi.json": "it is about the program",
    "/v1/feeds/{token}.ics": "only who makes a feed is told its token",
    "/v1/audit": "it is about the last round of the audit, which managers make again and again",
    "/v1/refusals": "it counts what the clients are refused",
    "/v1/usage": "it is a sum up to the present",
    "/v1/charges": "it is about a window that ends at the present",
    "/v1/forecast": "it counts what the clients have, from the present hour on",
}
ALWAYS = {
    r"1\.3 /v1/alarms\S* /.*/(checked_at|available)": "they are counted every few seconds, and clients lease hosts",
    r"1\.3 /v1/leases/\S+/history /held/[^/]+/end_date": "what a lease holds is recorded up to the present",
    r"1\.3 /v1/timeline /timeline/(now|cursor)": "the time of the answer, and the last event of all projects",
    r"1\.3 /v1/subscriptions\S* /.*/position": "the last event that was looked at for it",
    r"1\.3 /v1/events /next": "the last event of all projects",
    r"1\.3 /v1/regions\S* /regions/.*/endpoint": "each API has its own",
}
"""What differs between any two answers: a pattern of microversion, path and place in the answer, and why."""
NEWER = {
    r"1\.3 /v1/series\S* /.*/occurrences/\d+/planned": "1.0.0 has the key",
    r"1\.3 /v1/leases/\S+/history /changes/e\d+/changes": "1.0.0 has another order of the keys of one change",
    r"1\.3 /v1/availability/properties /properties/region/.*": "1.0.0 has the property",
    r"1\.3 /v1/capacity/changes /changes": "1.0.0 has the route",
    r"1\.3 /v1/(leases|offers)/\S+ /reservations/.*/expected_at": "1.0.0 has the key",
    r"1\.3 /v1/power/(hosts|margins|report) /(machines|margins|report)": "1.0.0 has the routes",
    r"1\.3 /v1/flexible-leases /flexible_leases": "1.0.0 has the route",
    r"1\.3 \S+ /.*[/ ](notice_seconds|taken_back_at)(/\w+)?": "1.0.0 has no notices",
    r"1\.3 /v1/fillers /fillers": "1.0.0 has the route",
    r"1\.3 /v1/lease-templates\S* /.*/purpose": "1.0.0 has the key",
    r"1\.3 /v1/leases/\S+ /lease/in_line/.*": "1.0.0 has the key",
    r"1\.3 /v1/prices /.*": "1.0.0 has the route",
    r"1\.3 /v1/budgets /budgets": "1.0.0 has the route",
    r"1\.3 /v1/timeline /timeline/states": "1.0.0 has a state more, the last one",
}
"""What is otherwise in this version than in the oldest."""


def shown(url: str, others: Collection[str]) -> dict[str, Any]:
    """Return every leaf of every answer, by project, microversion, path and place in the answer.

    Who asks is a member of the project, and an administrator for resources and where a member is refused. `others` are
    the ids of the resources of other projects, which an administrator sees as well, and which are left out.
    """
    found: dict[str, Any] = {}
    with requests.Session() as session:
        paths = session.get(f"{url}/openapi.json", timeout=WITHIN).json()["paths"]
        routes = [path for path, verbs in paths.items() if "get" in verbs and path not in NOT_ASKED]
        for project, version, begin in CALLERS:
            headers = {**VERSIONS[version], "X-Project-Id": project}
            answers = Answers(session, url.removesuffix("/v1"), headers, others)
            wanted = [route for route in routes if route.startswith(begin)]
            for path in [each for route in wanted for each in answers.expanded(route)]:
                found.update(_leaves(answers.get(path), f"{project} {version} {path} "))
    return found


@dataclass
class Answers:
    """The answers of an API to a project by path; each is asked for once."""

    session: requests.Session
    root: str
    headers: Mapping[str, str]
    others: Collection[str]
    found: dict[str, Any] = field(default_factory=dict)

    def get(self, path: str) -> Any:
        """Return the body of an answer."""
        if path not in self.found:
            answer = self._ask(path, "admin" if path.startswith(RESOURCES) else "member")
            if answer.status_code == HTTPStatus.FORBIDDEN:
                answer = self._ask(path, "admin")
            body = answer.json()
            if path == TIMELINE:
                body["timeline"] = _by_lease(body["timeline"])
            self.found[path] = {key: self._without_others(path, value) for key, value in body.items()}
        return self.found[path]

    def _ask(self, path: str, roles: str) -> requests.Response:
        headers = {**self.headers, "X-Roles": roles}
        return self.session.get(self.root + path, params=QUERIES.get(path), headers=headers, timeout=WITHIN)

    def _without_others(self, path: str, value: Any) -> Any:
        if isinstance(value, list) and path.startswith(RESOURCES):
            return [row for row in value if _name(row) not in self.others]
        return value

    def expanded(self, route: str) -> Iterator[str]:
        """Yield the paths of a route: with the names of all that the list above it has, at each of its places."""
        above, place, below = route.partition("/{")
        if not place:
            yield route
            return
        for rows in self.get(above).values():
            for row in rows if isinstance(rows, list) else ():
                yield from self.expanded(f"{above}/{_name(row)}{below.partition('}')[2]}")


def _by_lease(timeline: dict[str, Any]) -> dict[str, Any]:
    """Return a timeline whose leases have a place each by id: bars name them by their order, which means nothing."""
    columns, bars = timeline["leases"], timeline["bars"]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    named = [columns["id"][place] if place >= 0 else None for place in bars["lease"]]
    return {**timeline, "leases": sorted(rows, key=itemgetter("id")), "bars": {**bars, "lease": named}}


def check_the_same(before: Mapping[str, Any], after: Mapping[str, Any], *rules: Mapping[str, str]) -> None:
    """Check that everything is shown as it was, and nothing else, except for what is named in `ALWAYS` or a rule."""
    excepted = re.compile("|".join(f"\\w+ {rule}" for each in (ALWAYS, *rules) for rule in each))
    found = [
        f"{place}: {before.get(place, 'nothing')!r} became {after.get(place, 'nothing')!r}"
        for place in {**before, **after}
        if not _is_kept(before.get(place), after.get(place)) and not excepted.fullmatch(place)
    ]
    assert not found, "\n".join(found)


class Names(tuple[str, ...]):
    """The names of the rows of a list, in their order."""

    __slots__ = ()


def _is_kept(before: Any, after: Any) -> bool:
    """Return whether a leaf is as it was; a new row of a list has leaves of its own."""
    if isinstance(before, Names) and isinstance(after, Names):
        return before == tuple(name for name in after if name in before)
    return bool(before == after)


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of an answer by their places; a row of a list has its name as its place, if it has one."""
    rows: Mapping[str, Any] = value if isinstance(value, dict) else {}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        rows = {_name(row): row for row in value}
        if len(rows) < len(value):
            rows = {str(number): row for number, row in enumerate(value)}
        yield place, Names(rows)
    if not rows:
        yield place, value
    for name, each in rows.items():
        yield from _leaves(each, f"{place}/{name}")


def _name(row: Mapping[str, Any]) -> str:
    """Return what tells a row from the others of its list, "" if nothing does."""
    name = next((str(row[key]) for key in ("id", "resource_id", "property", "resource_type") if key in row), "")
    return f"{name} {row['key']}" if "key" in row else name
