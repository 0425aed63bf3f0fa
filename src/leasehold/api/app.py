"""The WSGI application."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import falcon

from leasehold.api import errors, metering, openapi, pipeline
from leasehold.api.auth.strategies import open_authenticator
from leasehold.api.call import Api
from leasehold.api.health import HealthCheck
from leasehold.api.lease_texts import LeaseTexts
from leasehold.api.limits.admission_control import AdmissionControl
from leasehold.api.limits.cloud_waits import CloudWaits
from leasehold.api.limits.delete_waits import DeleteWaits
from leasehold.api.limits.event_waits import EventWaits
from leasehold.api.limits.rate_limit import RateLimit
from leasehold.api.policies.enforcer import Policies
from leasehold.api.proxies import Proxies
from leasehold.api.route import rules_of
from leasehold.api.router import Router
from leasehold.conf.load import unset
from leasehold.leasing.refusals import RefusalCounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oslo_config import cfg

    from leasehold.api.call import Addition
    from leasehold.api.lease_field import LeaseField
    from leasehold.api.mount import MakeMount, Mount
    from leasehold.api.route import Route
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service

App = falcon.App[falcon.Request, falcon.Response]
"""The type of the WSGI callable."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What an API has: routes, what adds keys to bodies by the key that names it, and what is not a route.

    `lease_fields` are keys of the answer about one lease.
    """

    routes: Sequence[Route]
    additions: Mapping[str, Addition]
    mounts: Sequence[MakeMount]
    lease_fields: Sequence[LeaseField] = ()


def make_app(
    service: Service,
    settings: ApiSettings,
    parts: Parts,
    raw: cfg.ConfigOpts | None = None,
    admission: AdmissionControl | None = None,
    refusals: RefusalCounts | None = None,
) -> App:
    """Return the API of these parts over `service` as a WSGI callable, for any server and many threads.

    Everything that does not depend on a request is built here. `raw` is the whole configuration, for libraries that
    read their own options. A process that announces its stop passes its own `admission`, and one that writes by itself
    what it has counted its own `refusals`. Raises `ConfigurationError` with what to change.
    """
    admission = admission or AdmissionControl(settings)
    raw = raw or unset()
    authenticator = open_authenticator(settings, raw)
    made: list[Mount] = []
    for make in parts.mounts:
        made.append(make(service, settings, authenticator, raw))
        authenticator = made[-1].authenticator
    api = Api(
        service=service,
        settings=settings,
        authenticator=authenticator,
        policies=Policies(settings.policy, rules_of(parts.routes)),
        rates=RateLimit(settings.rates),
        admission=admission,
        delete_waits=DeleteWaits(settings),
        cloud_waits=CloudWaits(settings),
        event_waits=EventWaits(service.db, settings, admission),
        health=HealthCheck(service.db),
        refusals=refusals or RefusalCounts(service.db),
        lease_texts=LeaseTexts(),
        additions=parts.additions,
        lease_fields=[(each, each.make(service)) for each in parts.lease_fields],
        tried_fields=[(each, each.tried(service)) for each in parts.lease_fields if each.tried is not None],
        together_fields=[(each, each.together(service)) for each in parts.lease_fields if each.together is not None],
        document=cache(
            partial(openapi.describe, parts.routes, service.types, settings.auth_strategy, parts.lease_fields)
        ),
    )
    router = Router(parts.routes)

    def answer(req: falcon.Request, resp: falcon.Response, **_: Any) -> None:
        pipeline.answer(api, router, req, resp)

    def fail(_request: falcon.Request, response: falcon.Response, error: Exception, _parameters: object) -> None:
        failure = errors.answer_for(error)
        pipeline.write(response, failure.status, failure.body, failure.headers)

    app: App = falcon.App()
    app.add_middleware(Proxies(settings.trusted_proxies))
    app.add_sink(answer, prefix="/")
    for each in made:
        _add(app, each, api)
    # Errors that falcon raises before the pipeline runs get an answer of the same form.
    app.add_error_handler(Exception, fail)
    metering.install(app, router, settings)
    return app


def _add(app: App, mount: Mount, api: Api) -> None:
    answers = mount.answers(api)

    def answer(req: falcon.Request, resp: falcon.Response, **_: Any) -> None:
        answers(req, resp)

    if mount.middleware is not None:
        app.add_middleware(mount.middleware)
    app.add_sink(answer, prefix=mount.prefix)
