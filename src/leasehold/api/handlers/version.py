"""The version document, the OpenAPI description and the health check."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from leasehold.api import versions
from leasehold.api.call import Reply

if TYPE_CHECKING:
    from leasehold.api.call import Call


class LinkAnswer(TypedDict):
    """The URL of a version."""

    rel: str
    href: str


class VersionAnswer(TypedDict):
    """One version of the API and its range of microversions."""

    id: str
    status: str
    min_version: str
    max_version: str
    links: list[LinkAnswer]


class VersionList(TypedDict):
    """The answer about versions."""

    versions: list[VersionAnswer]


class HealthAnswer(TypedDict):
    """The answer of the health check."""

    status: str


def list_versions(call: Call) -> Reply:
    """Show the versions, with links under the URL that the client used."""
    # The deprecated v2 is not served, so it is not listed.
    return Reply(
        {
            "versions": [
                {
                    "id": "v1.0",
                    "status": "CURRENT",
                    "min_version": str(versions.MINIMUM),
                    "max_version": str(versions.MAXIMUM),
                    "links": [{"rel": "self", "href": f"{call.request.prefix}/v1"}],
                }
            ]
        }
    )


def show_document(call: Call) -> Reply:
    """Show the OpenAPI description of this API."""
    return Reply(call.api.document())


def check_health(call: Call) -> Reply:
    """Say whether this process serves: 200, or 503 so that a load balancer chooses another process."""
    if call.api.admission.closing:
        body = {"status": "draining", "error_message": "This process is about to stop. Ask another one."}
        return Reply(body, status=HTTPStatus.SERVICE_UNAVAILABLE)
    if not call.api.health.is_well():
        message = "The database does not answer, or takes no changes. Try again in a moment."
        return Reply({"status": "unavailable", "error_message": message}, status=HTTPStatus.SERVICE_UNAVAILABLE)
    return Reply({"status": "ok"})
