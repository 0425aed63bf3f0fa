"""The option of prices: `[price] file`; without one nothing costs anything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from leasehold.conf.errors import unusable
from leasehold.conf.options import Options
from leasehold.features.price.file import PriceFileError, read_prices

if TYPE_CHECKING:
    from leasehold.features.price.model import Prices


@dataclass(frozen=True, slots=True)
class PriceSettings:
    """The price lists; None: there are none."""

    prices: Prices | None = None


def _read(group: Any) -> PriceSettings:
    if not group.file:
        return PriceSettings()
    try:
        return PriceSettings(read_prices(Path(group.file)))
    except PriceFileError as error:
        raise unusable(f"[price] file: {error}") from error


OPTIONS = Options(
    "price",
    [
        cfg.StrOpt(
            "file",
            default="",
            help="The file with the price lists (TOML); empty: nothing has a price. It is read at the start.",
        )
    ],
    PriceSettings,
    _read,
)
