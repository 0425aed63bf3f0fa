"""Formats of regions, from 1.3 on."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.models.availability import AvailabilityAnswer, FoundWindow, RefusedAlternative, WindowSearch

MOST_REGIONS = 100


class RegionAnswer(TypedDict):
    """A region, and the URL at which its service takes requests for leases; `here` is true of the one that answers."""

    name: str
    endpoint: str
    here: bool


class RegionList(TypedDict):
    """The regions that this service knows: its own first."""

    regions: list[RegionAnswer]


class RegionAvailability(TypedDict):
    """How much is free in a region, or the reason why that is not known."""

    region: str
    endpoint: str
    availability: AvailabilityAnswer | None
    error_message: str | None


class RegionAvailabilityList(TypedDict):
    """How much is free in each region that was asked for."""

    regions: list[RegionAvailability]


class RegionSearch(WindowSearch):
    """The body of POST /v1/regions/availability/search: as that of one region, and in which `regions`; null for all."""

    regions: Annotated[list[str] | None, Field(min_length=1, max_length=MOST_REGIONS)] = None


class RegionWindows(TypedDict):
    """The first windows in a region, or the reason why they are not known."""

    region: str
    endpoint: str
    windows: list[FoundWindow]
    refused: list[RefusedAlternative]
    error_message: str | None


class RegionWindowsList(TypedDict):
    """The first windows in each region that was asked for."""

    regions: list[RegionWindows]
