"""A project learns that its quota of servers or floating IPs does not let it use what it leases (feature H11)."""

from leasehold.features.feature import Feature
from leasehold.features.quota.options import OPTIONS

FEATURE = Feature("quota", "Quota coupling", OPTIONS, enforces=True)
