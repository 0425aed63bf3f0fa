"""Answers what is below `/console`: files, and the requests of the console's pages about sessions."""

from __future__ import annotations

import re
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from leasehold.api import errors, request_ids
from leasehold.api.call import Reply, Text
from leasehold.api.errors import UnknownRouteError
from leasehold.api.mount import Mount
from leasehold.api.pipeline import write
from leasehold.features.console.browser import check_page
from leasehold.features.console.door import Door, DoorKeeper, Sessions, strip_identity
from leasehold.features.console.files import HEADERS, installed_files
from leasehold.features.console.handlers import HANDLERS, NAVIGATED, Console, Visit, end_other
from leasehold.features.console.options import ConsoleSettings
from leasehold.features.console.paths import ROOT
from leasehold.features.console.strategy import ActingAs, ByPassword
from leasehold.model.errors import MethodNotAllowedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import falcon
    from oslo_config import cfg

    from leasehold.api.auth.base import Authenticator
    from leasehold.conf.settings import ApiSettings, Settings
    from leasehold.features.console.files import Files
    from leasehold.features.console.strategy import Strategy
    from leasehold.leasing.service import Service

PREFIX: Final = re.compile(rf"{ROOT}(/.*)?\Z", re.DOTALL)
"""The paths that are answered here."""
SESSIONS: Final = "sessions/"
PRIVATE: Final[Mapping[str, str]] = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def mount(service: Service, settings: ApiSettings, inner: Authenticator, raw: cfg.ConfigOpts) -> Mount:
    """Return the console as a part of the API; where it is not installed, or off, its paths are unknown."""
    console = service.settings.of(ConsoleSettings)
    files = _open_files(console)
    if files is None:
        return Mount(PREFIX, lambda _: Pages(None, None).answer, inner)
    strategy = _strategy(settings, console, inner, raw)
    sessions = Sessions(service, console, settings.auth_strategy)
    return Mount(
        PREFIX,
        lambda api: Pages(files, Console(api, sessions, strategy)).answer,
        DoorKeeper(inner, sessions, strategy),
        Door(),
    )


def welcome(settings: Settings, url: str) -> str:
    """Say where the console is, if there is one."""
    return "" if _open_files(settings.of(ConsoleSettings)) is None else f"The web console is at {url}{ROOT}\n"


def _open_files(settings: ConsoleSettings) -> Files | None:
    return installed_files() if settings.enabled else None


def _strategy(settings: ApiSettings, console: ConsoleSettings, inner: Authenticator, raw: cfg.ConfigOpts) -> Strategy:
    """Return the console's side of the authentication strategy."""
    if settings.auth_strategy == "keystone":
        # Imported only where it is used, because of the libraries that it loads.
        from leasehold.features.console.keystone import WithKeystone  # noqa: PLC0415

        return WithKeystone(inner, raw, console)
    made: Mapping[str, Callable[..., Strategy]] = {"none": ActingAs, "http_basic": ByPassword}
    return made[settings.auth_strategy](inner)


class Pages:
    """Answers requests below `/console`; without a console nothing is there."""

    def __init__(self, files: Files | None, console: Console | None) -> None:
        self._files = files
        self._console = console

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
        with self._console.api.admission.admit(public=False):
            strip_identity(request.env)
            self._console.strategy.check(request)
            if rest not in NAVIGATED:
                check_page(request)
            reply = handlers[request.method](Visit(self._console, request, response))
        write(response, reply.status or HTTPStatus.OK, reply.body, {**PRIVATE, **reply.headers})


def _handlers(rest: str) -> Mapping[str, Callable[[Visit], Reply]] | None:
    """Return the handlers of a path below `/console/`, by method; None for a file."""
    if rest.startswith(SESSIONS):
        return {"DELETE": partial(end_other, name=rest.removeprefix(SESSIONS))}
    return HANDLERS.get(rest)


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
