"""Microversions (contract http-api §2.1): which versions exist, and which one a request asks for.

1.0  Blazar's v1, unchanged.
1.1  Dates may be ISO 8601 with a time zone, to the second. Leases show `status_reason`. Leases carry an `ETag`, and
     `If-Match` makes an amendment or a deletion conditional on it. Leases are listed in pages, with `limit` and
     `marker`.
1.2  Resources of any type are enrolled, shown, changed and removed at `/v1/resources/{resource_type}`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from leasehold.api.errors import MalformedRequestError
from leasehold.model.errors import UnknownVersionError

PATHS = frozenset({"/", "/versions"})
"""Paths of the version document."""
SERVICE_TYPE = "reservation"
HEADER = "OpenStack-API-Version"
LATEST = "latest"


class Version(NamedTuple):
    """A microversion; compares by number."""

    major: int
    minor: int

    def __str__(self) -> str:
        """Return the form used in headers, such as `1.0`."""
        return f"{self.major}.{self.minor}"


V1_0 = Version(1, 0)
V1_1 = Version(1, 1)
V1_2 = Version(1, 2)
MINIMUM = DEFAULT = V1_0
MAXIMUM = V1_2

ISO_DATES = V1_1
STATUS_REASON = V1_1
ETAGS = V1_1
PAGES = V1_1
RESOURCES = V1_2

SYNTAX = re.compile(r"([1-9]\d{0,8})\.(0|[1-9]\d{0,8})", re.ASCII)


def requested(header: str | None) -> Version:
    """Return the version that an `OpenStack-API-Version` header asks of this service, or the default.

    Entries of other services, and entries without a service type, are ignored. Raises `MalformedRequestError` (400)
    for bad syntax and `UnknownVersionError` (406) for a version that is not served.
    """
    for entry in reversed((header or "").split(",")):
        service, _, text = entry.strip().partition(" ")
        if service.lower() == SERVICE_TYPE:
            return _read(text.strip())
    return DEFAULT


def _read(text: str) -> Version:
    if text.lower() == LATEST:
        return MAXIMUM
    match = SYNTAX.fullmatch(text)
    if match is None:
        message = f"{text[:40]!r} is not a version. Ask for one such as '{SERVICE_TYPE} {MAXIMUM}' in {HEADER}."
        raise MalformedRequestError(message, field=HEADER)
    version = Version(int(match[1]), int(match[2]))
    if not MINIMUM <= version <= MAXIMUM:
        message = f"Version {version} is not served. Ask for {MINIMUM} to {MAXIMUM} in {HEADER}."
        details = {"min_version": str(MINIMUM), "max_version": str(MAXIMUM)}
        raise UnknownVersionError(message, field=HEADER, details=details)
    return version


def headers(version: Version) -> dict[str, str]:
    """Return the headers that tell clients and caches which version was served."""
    return {HEADER: f"{SERVICE_TYPE} {version}", "Vary": HEADER}
