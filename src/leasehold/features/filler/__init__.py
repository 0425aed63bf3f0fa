"""Fillers: hosts that are used until something is promised on them, below every promise (feature K2)."""

from leasehold.features.feature import Feature
from leasehold.features.filler.options import OPTIONS

FEATURE = Feature("filler", "Fillers", OPTIONS, api=True, job=True, tables=True, owns=True, lodges=True)
