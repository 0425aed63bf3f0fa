"""Availability: how much is free, and when a lease could be had, here and in other regions (features C3, G2 to G4)."""

from leasehold.features.availability.options import OPTIONS
from leasehold.features.feature import Feature

FEATURE = Feature("availability", "Availability", OPTIONS, api=True)
