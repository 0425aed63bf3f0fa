"""Counts requests around the pipeline, and serves the metrics to Prometheus."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from leasehold.metrics import exposition
from leasehold.metrics.request import count_request

if TYPE_CHECKING:
    import falcon

    from leasehold.api.router import Router
    from leasehold.conf.settings import ApiSettings

PATH = "/metrics"


class Metering:
    """Counts every answer under the path of its route, whether the pipeline or the web framework gave it."""

    def __init__(self, router: Router) -> None:
        self._router = router

    def process_request(self, request: falcon.Request, _response: falcon.Response) -> None:
        """Note the time at which the request began."""
        request.context.begun = perf_counter()

    def process_response(self, request: falcon.Request, response: falcon.Response, *_more: object) -> None:
        """Count the answer and its duration; what is no route of the API may have named itself in the context."""
        path_routes, _ = self._router.find(request.path)
        route: str | None = request.context.get("route")
        if path_routes is not None:
            route = next(iter(path_routes.by_method.values())).path
        count_request(route, request.method, response.status_code, perf_counter() - request.context.begun)


class MetricsPage:
    """Not in the table of routes: it is not part of the API, asks for no identity, and is off by default."""

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """Show the metrics."""
        response.data, response.content_type = exposition.page(request.get_header("Accept", default=""))


def install(app: falcon.App[falcon.Request, falcon.Response], router: Router, settings: ApiSettings) -> None:
    """Count the requests of `app`, and serve /metrics if `[api] metrics` is on."""
    app.add_middleware(Metering(router))
    if settings.metrics:
        app.add_route(PATH, MetricsPage())
