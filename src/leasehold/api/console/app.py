"""Answers what is below `/console`: files, and the requests of the console's pages about sessions."""

from __future__ import annotations

import re
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from leasehold.api import errors, request_ids
from leasehold.api.call import Reply, Text
from leasehold.api.console.browser import check_page
from leasehold.api.console.door import Door, DoorKeeper, Sessions, strip_identity
from leasehold.api.console.files import HEADERS, installed_files
from leasehold.api.console.handlers import HANDLERS, NAVIGATED, Console, Visit, end_other
from leasehold.api.console.paths import ROOT
from leasehold.api.console.strategy import ActingAs, ByPassword
from leasehold.api.errors import UnknownRouteError
from leasehold.api.pipeline import write
from leasehold.model.errors import MethodNotAllowedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import falcon
    from oslo_config import cfg

    from leasehold.api.auth.base import Authenticator
    from leasehold.api.call import Api
    from leasehold.api.console.files import Files
    from leasehold.api.console.strategy import Strategy
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service

PREFIX: Final = re.compile(rf"{ROOT}(/.*)?\Z", re.DOTALL)
"""The paths that are answered here."""
SESSIONS: Final = "sessions/"
PRIVATE: Final[Mapping[str, str]] = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def open_files(settings: ApiSettings) -> Files | None:
    """Return the console's files; None if it is not installed, or off."""
    return installed_files() if settings.console.enabled else None


class ConsoleParts:
    """The parts of a console that is on: the middleware of its door, and who identifies its callers."""

    def __init__(self, service: Service, settings: ApiSettings, inner: Authenticator, raw: cfg.ConfigOpts) -> None:
        """Build them; raises ConfigurationError."""
        self.strategy = _strategy(settings, inner, raw)
        self.sessions = Sessions(service, settings.console, settings.auth_strategy)
        self.authenticator = DoorKeeper(inner, self.sessions, self.strategy)
        self.door = Door()


def _strategy(settings: ApiSettings, inner: Authenticator, raw: cfg.ConfigOpts) -> Strategy:
    """Return the console's side of the authentication strategy."""
    if settings.auth_strategy == "keystone":
        # Imported only where it is used, because of the libraries that it loads.
        from leasehold.api.console.keystone import WithKeystone  # noqa: PLC0415

        return WithKeystone(inner, raw, settings.console)
    made: Mapping[str, Callable[..., Strategy]] = {"none": ActingAs, "http_basic": ByPassword}
    return made[settings.auth_strategy](inner)


class Pages:
    """Answers requests below `/console`; without a console nothing is there."""

    def __init__(self, api: Api, files: Files | None, parts: ConsoleParts | None) -> None:
        """Keep what answers."""
        self._api = api
        self._files = files
        self._console = None if parts is None else Console(api, parts.sessions, parts.strategy)

    def answer(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answer a request."""
        response.set_header(request_ids.HEADER, request_ids.begin(request.get_header(request_ids.HEADER)))
        try:
            self._answer(request, response)
        except Exception as error:  # noqa: BLE001 - here every error becomes an answer.
            # No challenge: a browser would ask for a password itself, and send it with requests of other sites.
            failure = errors.answer_for(error)
            write(response, failure.status, failure.body, {**PRIVATE, **failure.headers})

    def _answer(self, request: falcon.Request, response: falcon.Response) -> None:
        if self._files is None or self._console is None:
            raise UnknownRouteError("There is no console here. GET /v1/openapi.json lists the paths of the API.")
        if request.path == ROOT:
            _only(request, "GET", "HEAD")
            # Relative, so that it holds behind a proxy that adds to the path.
            moved = {"Location": f"{ROOT[1:]}/", "Cache-Control": "no-cache"}
            write(response, HTTPStatus.PERMANENT_REDIRECT, None, moved)
            return
        rest = request.path.removeprefix(f"{ROOT}/")
        handlers = _handlers(rest)
        if handlers is None:
            request.context.route = f"{ROOT}/{{file}}"
            _serve(self._files, rest, request, response)
            return
        request.context.route = f"{ROOT}/{rest}" if rest in HANDLERS else f"{ROOT}/{SESSIONS}{{session_id}}"
        _only(request, *handlers)
        with self._api.admission.admit(public=False):
            strip_identity(request.env)
            self._console.strategy.check(request)
            if rest not in NAVIGATED:
                check_page(request)
            reply = handlers[request.method](Visit(self._console, request, response))
        write(response, reply.status or HTTPStatus.OK, reply.body, {**PRIVATE, **reply.headers})


def _handlers(rest: str) -> Mapping[str, Callable[[Visit], Reply]] | None:
    """Return the handlers of a path below `/console/`, by method; None for a file."""
    if rest.startswith(SESSIONS):
        return {"DELETE": partial(_end_other, rest.removeprefix(SESSIONS))}
    return HANDLERS.get(rest)


def _end_other(name: str, visit: Visit) -> Reply:
    return end_other(visit, name)


def _only(request: falcon.Request, *methods: str) -> None:
    if request.method not in methods:
        names = sorted(methods)
        message = f"{request.method[:20]} is not possible here. Use {' or '.join(names)}."
        raise MethodNotAllowedError(message, details={"allow": names})


def _serve(files: Files, path: str, request: falcon.Request, response: falcon.Response) -> None:
    """Answer with a file, or that it is the one which the browser has."""
    _only(request, "GET", "HEAD")
    found = files.find(path)
    if found is None:
        raise UnknownRouteError("The console has no such file.")
    headers = {**HEADERS, "ETag": found.etag}
    had = (request.get_header("If-None-Match") or "").split(",")
    if found.etag in [each.strip().removeprefix("W/") for each in had]:
        write(response, HTTPStatus.NOT_MODIFIED, None, headers)
        return
    write(response, HTTPStatus.OK, Text(found.content, found.media_type), headers)
