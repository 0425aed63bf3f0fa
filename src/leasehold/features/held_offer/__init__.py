"""Offers that hold what a lease would get, until they are accepted or lapse (feature I6, decision 0073)."""

from leasehold.features.feature import Feature
from leasehold.features.held_offer.options import OPTIONS

FEATURE = Feature("held_offer", "Offers", OPTIONS, api=True)
