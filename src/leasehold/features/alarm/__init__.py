"""Capacity alarms: a project is told when less can be leased than it wants to rely on (feature D6, decision 0048)."""

from leasehold.features.alarm.options import OPTIONS
from leasehold.features.feature import Feature

FEATURE = Feature("alarm", "Capacity alarms", OPTIONS, api=True, job=True, tables=True)
