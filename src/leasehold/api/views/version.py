"""The version document (contract http-api §1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api import versions

if TYPE_CHECKING:
    from leasehold.api.models.version import VersionList


def show_versions(prefix: str) -> VersionList:
    """Return the versions served below `prefix`: scheme, host and the path where the application is mounted.

    The deprecated v2 is not served, so it is not listed.
    """
    return {
        "versions": [
            {
                "id": "v1.0",
                "status": "CURRENT",
                "min_version": str(versions.MINIMUM),
                "max_version": str(versions.MAXIMUM),
                "links": [{"rel": "self", "href": f"{prefix}/v1"}],
            }
        ]
    }
