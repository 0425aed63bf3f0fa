"""CloudKitty: what projects pay, as rows that are rated already (`POST /v2/dataframes`).

It takes a row as often as it is sent, and in InfluxDB rows with the same time and `groupby` are one. So each row has a
key in its `groupby`, and what it has is asked before anything is sent again.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from leasehold.cloud.openstack.connections import connect_apart
from leasehold.cloud.openstack.rest import ServiceClient
from leasehold.cloud.ports import CloudTransientError
from leasehold.conf.keystone import CLOUDKITTY, RATING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oslo_config import cfg

    from leasehold.cloud.ports import RatedRow

PAGE: Final = 1000
"""Rows of an answer."""
_NONE: Final = 404
_PATH: Final = "/v2/dataframes"


def open_rating(conf: cfg.ConfigOpts) -> OpenStackRating:
    """Return CloudKitty, without a call yet; raises ConfigurationError for a login that can never be used."""
    return OpenStackRating(ServiceClient(connect_apart(conf, CLOUDKITTY, RATING), CLOUDKITTY))


class OpenStackRating:
    """Implements `ports.Rating`."""

    def __init__(self, cloudkitty: ServiceClient) -> None:
        self._cloudkitty = cloudkitty

    def keys(self, rows: Sequence[RatedRow]) -> frozenset[str]:
        """Return the keys that it has of these rows."""
        query = {
            "begin": min(each.start for each in rows).isoformat(),
            "end": max(each.end for each in rows).isoformat(),
            "filters": f"batch:{rows[0].batch}",
            "limit": PAGE,
        }
        found: set[str] = set()
        offset = 0
        while True:
            answer = self._cloudkitty.get("rating.keys", _PATH, params={**query, "offset": offset}, none_on=(_NONE,))
            try:
                frames = [] if answer is None else answer["dataframes"]
                points = [point for frame in frames for some in frame["usage"].values() for point in some]
                found |= {point["groupby"]["key"] for point in points}
            except (TypeError, LookupError, AttributeError) as error:
                raise CloudTransientError(f"{CLOUDKITTY}: what answers as CloudKitty is none: {error!r}") from error
            if len(points) < PAGE:
                return frozenset(found)
            offset += len(points)

    def push(self, rows: Sequence[RatedRow]) -> None:
        """Add rows, in frames of those of the same time."""
        when = attrgetter("start", "end")
        frames = []
        for (start, end), some in groupby(sorted(rows, key=when), when):
            usage: dict[str, list[Any]] = {}
            for each in some:
                usage.setdefault(each.what, []).append(_point(each))
            frames.append({"period": {"begin": start.isoformat(), "end": end.isoformat()}, "usage": usage})
        self._cloudkitty.call("rating.push", "POST", _PATH, json={"dataframes": frames})


def _point(row: RatedRow) -> dict[str, Any]:
    return {
        "vol": {"unit": row.unit, "qty": str(row.quantity)},
        "rating": {"price": str(row.price)},
        "groupby": {"project_id": row.project_id, "batch": row.batch, "key": row.key},
        "metadata": dict(row.notes),
    }
