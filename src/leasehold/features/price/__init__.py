"""Prices: what a promise costs, by the list that is valid when it is made (feature H7, decision 0155)."""

from leasehold.features.feature import Feature
from leasehold.features.price.options import OPTIONS

FEATURE = Feature("price", "Prices", OPTIONS, api=True, job=True, tables=True, binds=True, estimates=True, shows=True)
