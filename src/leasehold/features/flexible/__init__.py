"""Leases for so much time within a window, which may be moved there until shortly before they start (idea 7)."""

from leasehold.features.feature import Feature
from leasehold.features.flexible.options import OPTIONS

FEATURE = Feature("flexible", "Flexible leases", OPTIONS, api=True, job=True, tables=True, ways=True)
