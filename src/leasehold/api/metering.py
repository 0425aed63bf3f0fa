"""Counting requests around the pipeline, and the page that shows Prometheus the numbers."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from leasehold.metrics import exposition
from leasehold.metrics.request import count_request

if TYPE_CHECKING:
    import falcon

    from leasehold.api.app import App
    from leasehold.api.router import Router
    from leasehold.conf.settings import ApiSettings

PATH = "/metrics"


class Metering:
    """Counts every answer under the path of its route, whether the pipeline or the web framework gave it."""

    def __init__(self, router: Router) -> None:
        """Keep what knows the routes."""
        self._router = router

    def process_request(self, request: falcon.Request, _response: falcon.Response) -> None:
        """Look at the clock."""
        request.context.begun = perf_counter()

    def process_response(
        self,
        request: falcon.Request,
        response: falcon.Response,
        _resource: object,
        _succeeded: bool,  # noqa: FBT001 - falcon's
    ) -> None:
        """Count the answer."""
        path_routes, _ = self._router.find(request.path)
        route = None if path_routes is None else next(iter(path_routes.by_method.values())).path
        count_request(route, request.method, response.status_code, perf_counter() - request.context.begun)


class MetricsPage:
    """Outside the table of routes: it is no part of the API, asks for no identity, and is there only when wanted."""

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """Show the numbers."""
        response.data, response.content_type = exposition.page(request.get_header("Accept", default=""))


def install(app: App, router: Router, settings: ApiSettings) -> None:
    """Count the requests of `app`, and show the numbers at /metrics when the settings say so."""
    app.add_middleware(Metering(router))
    if settings.metrics:
        app.add_route(PATH, MetricsPage())
