"""Projects are told before a lease ends their preemptible servers (feature K1)."""

from leasehold.features.feature import Feature
from leasehold.features.preemption.options import OPTIONS

FEATURE = Feature("preemption", "Preemptible servers", OPTIONS, job=True, tables=True)
