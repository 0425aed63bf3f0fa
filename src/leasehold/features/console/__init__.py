"""The web console: its files, who is signed in there, and its way to the API (design §8)."""

from leasehold.features.console.options import OPTIONS
from leasehold.features.console.paths import API, LONGEST_BODY, SIGN_IN
from leasehold.features.feature import Feature, Intakes

FEATURE = Feature(
    "console", "Web console", OPTIONS, job=True, tables=True, mount=True, intakes=Intakes(SIGN_IN, LONGEST_BODY, API)
)
