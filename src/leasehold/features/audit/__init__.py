"""The audit: check the database, compare the cloud with it, and repair what may be repaired (feature E9, idea 19)."""

from leasehold.features.audit.options import OPTIONS
from leasehold.features.feature import Feature

FEATURE = Feature("audit", "Audit", OPTIONS, api=True, job=True, tables=True, command=True)
