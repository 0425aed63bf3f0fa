"""Maintenance windows: hosts that are promised to nobody else for a time (feature C7, idea 20, decision 0044)."""

from leasehold.features.feature import Feature

FEATURE = Feature("maintenance", "Maintenance windows", api=True)
