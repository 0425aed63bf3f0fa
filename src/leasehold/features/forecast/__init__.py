"""The forecast: how much will be asked for, and how much will be missing (feature G10, decision 0109)."""

from leasehold.features.feature import Feature

FEATURE = Feature("forecast", "The forecast", api=True)
