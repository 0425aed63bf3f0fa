"""Series of leases: leases that recur, asked for, amended and deleted in one request each (idea 1, decision 0054)."""

from leasehold.features.feature import Feature

FEATURE = Feature("series", "Series of leases", api=True, tables=True)
