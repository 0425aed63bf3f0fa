"""The timeline: what resources do in a window, past or future, for programs that draw it (issue 14, decision 0095)."""

from leasehold.features.feature import Feature

FEATURE = Feature("timeline", "The timeline", api=True)
