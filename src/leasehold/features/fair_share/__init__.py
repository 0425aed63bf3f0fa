"""Fair share: who has held less comes first among the leases that wait, and sees where they stand (idea 9, A17)."""

from leasehold.features.fair_share.options import OPTIONS
from leasehold.features.feature import Feature

FEATURE = Feature("fair_share", "Fair share", OPTIONS, job=True, tables=True, shows=True)
