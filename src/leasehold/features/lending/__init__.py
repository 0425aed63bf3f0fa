"""Owners publish what they do not need, and leases lend hosts (features I2 to I4, decisions 0108, 0110 and 0111)."""

from leasehold.features.feature import Feature
from leasehold.features.lending.options import OPTIONS

FEATURE = Feature("lending", "Published offers", OPTIONS, api=True, tables=True, sources=True)
