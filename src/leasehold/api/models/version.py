"""The format of the version document (contract http-api §1)."""

from __future__ import annotations

from typing_extensions import TypedDict


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
