"""Refused requests: operators see how many there were in each hour, and what was missing (decision 0105).

The core counts them (`leasing/refusals.py`), because every process does, and because the forecast reads them as well.
"""

from leasehold.features.feature import Feature

FEATURE = Feature("refusal", "Refusals", api=True)
