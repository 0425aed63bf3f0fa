"""Usage: what was promised and not delivered or given up, and what was used of what was held (features G8, L9)."""

from leasehold.features.feature import Feature
from leasehold.features.usage.options import OPTIONS

FEATURE = Feature("usage", "Usage", OPTIONS, api=True, job=True, tables=True, records=True)
