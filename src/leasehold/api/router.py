"""Finds the route of a path and a method. The table is compiled once; literal words win over ids."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falcon.routing import CompiledRouter

from leasehold.api.errors import UnknownRouteError
from leasehold.model.errors import MethodNotAllowedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leasehold.api.route import Route
    from leasehold.api.versions import Version

LONGEST_WORD = 255
WORD = re.compile(rf"[^\x00-\x1f\x7f-\x9f/]{{1,{LONGEST_WORD}}}")
"""An id or a name in a path: any characters except control characters and slashes."""


@dataclass(frozen=True, slots=True)
class PathRoutes:
    """The routes of one path, by method."""

    by_method: Mapping[str, Route]

    @property
    def public(self) -> bool:
        """Whether no route of the path asks for an identity."""
        return all(route.public for route in self.by_method.values())

    @property
    def instant(self) -> bool:
        """Whether all routes of the path are answered from memory."""
        return all(route.instant for route in self.by_method.values())


class Router:
    """Finds routes. A path must match exactly: no trailing slash, no suffix (contract http-api §2)."""

    def __init__(self, routes: Iterable[Route]) -> None:
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            methods = by_path.setdefault(route.path, {})
            methods[route.method] = route
            if route.method == "GET":
                methods["HEAD"] = route
        self._compiled = CompiledRouter()
        for path, methods in by_path.items():
            self._compiled.add_route(path, PathRoutes(methods))

    def find(self, path: str) -> tuple[PathRoutes | None, dict[str, str]]:
        """Return the routes of `path` and the values of its variables; None and no values for an unknown path."""
        found = self._compiled.find(path)
        if found is None or path.startswith("//"):
            return None, {}
        path_routes, _, values, _ = found
        if not isinstance(path_routes, PathRoutes) or not all(map(WORD.fullmatch, values.values())):
            return None, {}
        return path_routes, values

    def choose(self, path_routes: PathRoutes | None, method: str, version: Version) -> Route:
        """Return the route of a method; raises `UnknownRouteError`, or `MethodNotAllowedError` with allowed methods."""
        allowed = {
            name: route
            for name, route in (path_routes.by_method if path_routes else {}).items()
            if route.since <= version
        }
        if not allowed:
            raise UnknownRouteError("There is nothing at this path. GET /v1/openapi.json lists all paths.")
        if method not in allowed:
            names = sorted(allowed)
            message = f"{method[:20]} is not possible here. Use {' or '.join(names)}."
            raise MethodNotAllowedError(message, details={"allow": names})
        return allowed[method]
