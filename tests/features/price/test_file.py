"""The file of the price lists: what it says, and what an operator is told who has made a mistake in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.errors import ConfigurationError
from leasehold.features import registry
from leasehold.features.price.file import PriceFileError, read_prices
from leasehold.features.price.model import Rates
from leasehold.features.price.options import PriceSettings
from leasehold.model.properties import parse

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.features.price.model import Prices

GOOD = """
unit = "EUR"

[[list]]
name = "2031"
from = 2031-01-01T00:00:00+01:00
until = 2032-01-01T00:00:00+01:00
time_zone = "Europe/Berlin"

[[list.rule]]
type = "physical:host"
properties = '["==", "$gpu", "A100"]'
hour = "4.50"
used = "1.2"
given_up = "0.25"

[[list.rule]]
type = "virtual:instance"
vcpu_hour = "0.02"
memory_gib_hour = "0.005"
flat = 1

[[list.time]]
hours = ["mon-fri 08:00-18:00"]
factor = "1.5"

[[list.notice]]
less_than_hours = 24
factor = "1.2"
"""


def read(folder: Path, text: str) -> Prices:
    path = folder / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return read_prices(path)


def test_all_that_a_list_may_say(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)
    assert (found.unit, found.places) == ("EUR", 2)
    (one,) = found.lists
    assert (one.name, one.start, one.end) == (
        "2031",
        datetime(2030, 12, 31, 23, tzinfo=UTC),
        datetime(2031, 12, 31, 23, tzinfo=UTC),
    )
    host, instance = one.rules
    assert host.condition == parse('["==", "$gpu", "A100"]', "properties")
    assert host.rates == Rates(hour=Decimal("4.50"), used=Decimal("1.2"), given_up=Decimal("0.25"))
    assert instance.rates.flat == 1
    assert one.times[0].hours == ("mon-fri 08:00-18:00",)
    assert one.notices[0].less_than == timedelta(hours=24)


def test_lists_are_in_the_order_of_their_dates(tmp_path: Path) -> None:
    later = '\n[[list]]\nname = "before"\nfrom = 2030-01-01T00:00:00Z\nuntil = 2030-06-01T00:00:00Z\n'
    later += '[[list.rule]]\ntype = "physical:host"\nhour = 1\n'
    assert [each.name for each in read(tmp_path, GOOD + later).lists] == ["before", "2031"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('hour = "4.50"', "hour = 4.5", 'list.1.rule.1.hour: it has to be a text such as "4.50", or a whole number'),
        ('hour = "4.50"', 'hour = "4,50"', "list.1.rule.1.hour: '4,50' is no amount; write one such as \"4.50\""),
        ('hour = "4.50"', 'hour = "-1"', "list.1.rule.1.hour: input should be greater than or equal to 0"),
        ('hour = "4.50"', 'hour = "NaN"', "list.1.rule.1.hour: "),
        ('hour = "4.50"', 'hour = "0.0000001"', "list.1.rule.1.hour: decimal input should have no more than 6 decimal"),
        ('given_up = "0.25"', 'given_up = "25"', "list.1.rule.1.given_up: input should be less than or equal to 1"),
        (
            'properties = \'["==", "$gpu", "A100"]\'',
            "properties = 'gpu'",
            "list.1.rule.1.properties: the expression in",
        ),
        ('hours = ["mon-fri 08:00-18:00"]', 'hours = ["all day"]', "list.1.time.1.hours.1: 'all day' is no time like"),
        ('"Europe/Berlin"', '"Europe/Berln"', "list.1.time_zone: there is no time zone 'Europe/Berln'"),
        ("from = 2031-01-01T00:00:00+01:00", "from = 2031-01-01T00:00:00", "list.1.from: 2031-01-01 00:00:00 needs a"),
        ("from = 2031-01-01T00:00:00+01:00\n", "", "list.1.from: field required"),
        ("from = 2031", "from = 2033", "list '2031': until has to be after from"),
        ("flat = 1", "flatt = 1", "list.1.rule.2.flatt: extra inputs are not permitted"),
        ('unit = "EUR"', "", "unit: field required"),
        ('unit = "EUR"', "unit = EUR", "Invalid value"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, before: str, after: str, told: str) -> None:
    assert before in GOOD
    with pytest.raises(PriceFileError) as found:
        read(tmp_path, GOOD.replace(before, after, 1))
    assert str(found.value).startswith(f"{tmp_path / 'prices.toml'}: {told}")


def test_two_lists_may_not_be_valid_at_once_nor_have_one_name(tmp_path: Path) -> None:
    other = (
        GOOD.partition("\n[[list]]\n")[2].replace('"2031"', '"summer"', 1).replace("from = 2031-01", "from = 2031-06")
    )
    with pytest.raises(PriceFileError, match="list '2031': until of '2031' has to be 2031-06-01T00:00:00"):
        read(tmp_path, f"{GOOD}\n[[list]]\n{other}")
    with pytest.raises(PriceFileError, match="two lists have the same name"):
        read(tmp_path, f"{GOOD}\n[[list]]\n{other.replace('summer', '2031')}")


def test_the_service_does_not_start_with_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    configuration = tmp_path / "leasehold.conf"
    configuration.write_text(f"[database]\nconnection = sqlite://\n[price]\nfile = {tmp_path / 'none.toml'}\n")
    with pytest.raises(ConfigurationError, match=r"\[price\] file: .*none.toml cannot be read: No such file"):
        registry.load(["--config-file", str(configuration)])


def test_nothing_has_a_price_without_a_file(tmp_path: Path) -> None:
    configuration = tmp_path / "leasehold.conf"
    configuration.write_text("[database]\nconnection = sqlite://\n")
    assert registry.load(["--config-file", str(configuration)]).settings.of(PriceSettings).prices is None
