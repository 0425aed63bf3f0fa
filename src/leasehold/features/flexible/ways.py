"""How flexible leases make room for others."""

from __future__ import annotations

from leasehold.features.flexible.room import FlexibleWay

WAYS = (FlexibleWay,)
