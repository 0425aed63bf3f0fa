"""Hosts that nobody needs are switched off, and on again in time for the leases that need them (feature F1)."""

from leasehold.features.feature import Feature
from leasehold.features.power.options import OPTIONS

FEATURE = Feature("power", "Power", OPTIONS, api=True, job=True, tables=True, command=True, hears=True)
