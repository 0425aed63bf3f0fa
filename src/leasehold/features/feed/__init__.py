"""Calendar feeds: leases at an address that calendar programs read without a login (idea 6, decision 0076)."""

from leasehold.features.feature import Feature
from leasehold.features.feed.options import OPTIONS

FEATURE = Feature("feed", "Calendar feeds", OPTIONS, api=True, tables=True)
