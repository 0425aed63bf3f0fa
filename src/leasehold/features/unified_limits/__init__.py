"""Limits of projects that operators keep in Keystone, beside those of the other services (feature H4)."""

from leasehold.features.feature import Feature
from leasehold.features.unified_limits.options import OPTIONS

FEATURE = Feature("unified_limits", "Limits from Keystone", OPTIONS, enforces=True)
