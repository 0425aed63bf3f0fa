"""Capacity with dates: hosts that will be there from or until a date, and reserves that are held back (feature G5)."""

from leasehold.features.feature import Feature
from leasehold.features.planned_capacity.options import OPTIONS

FEATURE = Feature("planned_capacity", "Planned capacity", OPTIONS, api=True, job=True, tables=True)
