"""Lease templates: requests for leases that are kept under a name, without dates (decision 0083)."""

from leasehold.features.feature import Feature
from leasehold.features.template.options import OPTIONS

FEATURE = Feature("template", "Lease templates", OPTIONS, api=True, fills=True, tables=True)
