"""The history of a lease: each change of it, and what it has held (feature L9, decision 0084).

What a lease was at a moment (`as_of`) is the core's (`leasing/reading/lease_then.py`), because the timeline reads it as
well.
"""

from leasehold.features.feature import Feature

FEATURE = Feature("lease_history", "The history of a lease", api=True)
