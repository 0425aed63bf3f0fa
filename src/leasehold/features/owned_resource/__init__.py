"""What owners do with their resources: see who leases them, and end such a lease (feature I1, decision 0108)."""

from leasehold.features.feature import Feature

FEATURE = Feature("owned_resource", "Resources of owners", api=True)
