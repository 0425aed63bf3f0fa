"""The file of the price lists, which operators write: TOML, checked as a whole before the service starts.

Amounts are texts such as "4.50" or whole numbers: TOML's fractions are binary, and would not be exact.
"""

from __future__ import annotations

import tomllib
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from leasehold.features.price.model import (
    PROVIDER,
    NoticeFactor,
    PriceList,
    Prices,
    Rates,
    Rule,
    TimeFactor,
    overlapping,
)
from leasehold.model.errors import LeaseholdError
from leasehold.model.hours import EXAMPLE, Hours, read_zone
from leasehold.model.properties import parse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST_DIGITS: Final = 15
MOST_PLACES: Final = 6
LONGEST_NOTICE: Final = 24 * 366
"""Hours."""


class PriceFileError(Exception):
    """The file cannot be used; the message names the file and the key in it, and says what would work."""


def _exact(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | str):
        message = 'it has to be a text such as "4.50", or a whole number: a fraction without quotes is not exact'
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError, not TypeError, into an error of the field
    try:
        return Decimal(value)
    except ArithmeticError:
        message = f'{value!r} is no amount; write one such as "4.50"'
        raise ValueError(message) from None


def _hours(text: str) -> str:
    try:
        Hours.read(text)
    except ValueError:
        message = f"{text!r} is no time like {EXAMPLE}"
        raise ValueError(message) from None
    return text


def _in_words(text: str) -> str:
    try:
        parse(text, "properties")
    except LeaseholdError as error:
        raise ValueError(error.message) from None
    return text


def _known_zone(text: str) -> str:
    try:
        read_zone(text)
    except LeaseholdError as error:
        raise ValueError(error.message) from None
    return text


def _with_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        message = f"{moment} needs a time zone, such as {moment.isoformat()}Z"
        raise ValueError(message)
    return moment


_Number = BeforeValidator(_exact)
_Amount = Annotated[Decimal, _Number, Field(ge=0, max_digits=MOST_DIGITS, decimal_places=MOST_PLACES)]
_Share = Annotated[Decimal, _Number, Field(ge=0, le=1, decimal_places=MOST_PLACES)]
_Moment = Annotated[datetime, AfterValidator(_with_zone)]
_Name = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^\s\x00-\x1f].*$")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Rule(_Model):
    type: _Name
    properties: Annotated[str, AfterValidator(_in_words)] = ""
    hour: _Amount = Decimal(0)
    vcpu_hour: _Amount = Decimal(0)
    memory_gib_hour: _Amount = Decimal(0)
    used: _Amount = Decimal(1)
    flat: _Amount = Decimal(0)
    given_up: _Share = Decimal(0)
    filler: _Share = Decimal(0)

    def made(self) -> Rule:
        rates = {name: getattr(self, name) for name in Rates.__dataclass_fields__}
        return Rule(self.type, Rates(**rates), self.properties, parse(self.properties, "properties"))


class _Time(_Model):
    hours: Annotated[list[Annotated[str, AfterValidator(_hours)]], Field(min_length=1)]
    factor: _Amount

    def made(self) -> TimeFactor:
        return TimeFactor(tuple(self.hours), self.factor)


class _Notice(_Model):
    less_than_hours: Annotated[int, Field(ge=1, le=LONGEST_NOTICE)]
    factor: _Amount

    def made(self) -> NoticeFactor:
        return NoticeFactor(timedelta(hours=self.less_than_hours), self.factor)


class _List(_Model):
    name: _Name
    start: Annotated[_Moment, Field(alias="from")]
    end: Annotated[_Moment | None, Field(alias="until")] = None
    time_zone: Annotated[str, AfterValidator(_known_zone)] = "UTC"
    rule: Annotated[list[_Rule], Field(min_length=1)]
    time: list[_Time] = []
    notice: list[_Notice] = []

    def made(self) -> PriceList:
        return PriceList(
            self.name,
            self.start,
            self.end,
            read_zone(self.time_zone),
            tuple(each.made() for each in self.rule),
            tuple(each.made() for each in self.time),
            tuple(each.made() for each in self.notice),
        )


class _Billed(_Model):
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    per_unit: Annotated[Decimal, _Number, Field(gt=0, max_digits=MOST_DIGITS, decimal_places=MOST_PLACES)]


class _File(_Model):
    unit: _Name
    provider: _Name = PROVIDER
    billed: _Billed | None = None
    places: Annotated[int, Field(ge=0, le=MOST_PLACES)] = 2
    lists: Annotated[list[_List], Field(min_length=1, alias="list")]


def read_prices(path: Path) -> Prices:
    """Return the price lists of a file; raises PriceFileError."""
    try:
        text = path.read_text(encoding="utf-8")
        found = _File.model_validate(tomllib.loads(text))
        lists = tuple(sorted((each.made() for each in found.lists), key=lambda each: each.start))
    except OSError as error:
        raise PriceFileError(f"{path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise PriceFileError(f"{path}: {_said(error)}") from error
    except ValueError as error:
        raise PriceFileError(f"{path}: {error}.") from error
    _check(path, lists)
    billed = None if found.billed is None else (found.billed.currency, found.billed.per_unit)
    return Prices(found.unit, found.places, lists, found.provider, billed)


def _check(path: Path, lists: Sequence[PriceList]) -> None:
    names = [each.name for each in lists]
    if len(set(names)) < len(names):
        raise PriceFileError(f"{path}: list: two lists have the same name; a name is for one list, for good.")
    backwards = next((each for each in lists if each.end is not None and each.end <= each.start), None)
    if backwards is not None:
        raise PriceFileError(f"{path}: list {backwards.name!r}: until has to be after from.")
    both = overlapping(lists)
    if both is not None:
        one, other = both
        message = (
            f"until of {one.name!r} has to be {other.start.isoformat()} at the latest, when {other.name!r} begins."
        )
        raise PriceFileError(f"{path}: list {one.name!r}: {message}")


def _said(error: ValidationError) -> str:
    """Return the first mistake, with the place of its key in the file."""
    first = error.errors()[0]
    where = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
    what = first["msg"].removeprefix("Value error, ")
    return f"{where}: {what[:1].lower()}{what[1:]}."
