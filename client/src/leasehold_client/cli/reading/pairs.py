"""`key=value,…` as Blazar's options take it: reservations, events and properties. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leasehold_client.errors import ClientError
from leasehold_client.lease import HOST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_EXPRESSIONS = {"hypervisor_properties": "", "resource_properties": ""}
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    HOST: _EXPRESSIONS,
    "virtual:instance": {"affinity": "None", "resource_properties": ""},
    "flavor:instance": {"affinity": "None"},
    "virtual:floatingip": {"amount": 1, "required_floatingips": []},
}
"""What is filled in for keys that a reservation of this type does not name."""
_LISTS = frozenset({"required_floatingips"})
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_EXAMPLE = "such as resource_type=physical:host,min=1,max=2"


class BadPairsError(ValueError):
    """The text does not say what it has to; the message says what is missing."""


def read_reservation(text: str) -> dict[str, Any]:
    """Return a reservation to ask for, complete with defaults. Raises BadPairsError."""
    found = read_values(text)
    kind = found.get("resource_type")
    if not isinstance(kind, str):
        raise BadPairsError(f"{text!r} names no resource_type. Write a reservation {_EXAMPLE}.")
    if kind == HOST:
        least = found.setdefault("min", found.get("max", 1))
        found.setdefault("max", least)
    return {**DEFAULTS.get(kind, {}), **found}


def read_values(text: str) -> dict[str, Any]:
    """Return keys and values, those of digits as numbers. Raises BadPairsError."""
    return {key: _value(key, value) for key, value in _pairs(text).items()}


def read_hosts(text: str) -> dict[str, Any]:
    """Return a reservation of hosts from its keys without the type, as Blazar's `--physical-reservation` takes it."""
    return read_reservation(f"resource_type={HOST},{text}")


def read_alternative(text: str) -> dict[str, Any]:
    """Return a reservation, of hosts if it names no type. Raises BadPairsError."""
    return read_reservation(text) if "resource_type" in read_values(text) else read_hosts(text)


def read_change(text: str) -> dict[str, Any]:
    """Return a change of a reservation, which has to name the `id`. Raises BadPairsError."""
    found = read_values(text)
    if "id" not in found:
        raise BadPairsError(f"{text!r} names no id. Write a change such as id=RESERVATION_ID,min=2,max=2.")
    return found | {"id": str(found["id"])}


def read_event(text: str) -> dict[str, str]:
    """Return an event to add: its type, and its date, if it has one. Raises BadPairsError."""
    found = _pairs(text)
    if "event_type" not in found:
        raise BadPairsError(f"{text!r} names no event_type. Write an event such as event_type=notification.")
    return {key: found[key] for key in ("event_type", "event_date") if key in found}


def read_property(text: str) -> tuple[str, str]:
    """Return a property and its value, which may have commas. Raises BadPairsError."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadPairsError(f"{text!r} is no KEY=VALUE.")
    return name, value


def each_once(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return properties by their keys. Raises ClientError for one that is given two values: only one could count."""
    found: dict[str, str] = {}
    for key, value in pairs:
        if key in found:
            raise ClientError(f"The property {key} is set twice, to {found[key]!r} and to {value!r}. Set it once.")
        found[key] = value
    return found


def write_reservation(values: Mapping[str, Any]) -> str:
    """Return the text that `read_reservation` reads as this reservation."""
    defaults = DEFAULTS.get(values["resource_type"], {})
    told = {key: value for key, value in values.items() if key not in defaults or defaults[key] != value}
    return ",".join(f"{key}={_text(value)}" for key, value in told.items())


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list) else str(value)


def _value(key: str, text: str) -> Any:
    if key in _LISTS:
        try:
            return json.loads(text)
        except ValueError:
            raise BadPairsError(f'{key} has to be a list in JSON, such as ["203.0.113.7"], and is {text!r}.') from None
    return int(text) if _NUMBER.fullmatch(text) else text


def _pairs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in _parts(text):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or not key:
            raise BadPairsError(f"{part!r} is no key=value. Write key=value,key=value, {_EXAMPLE}.")
        if key in found:
            raise BadPairsError(f"{text!r} says {key} twice. Say each once.")
        found[key] = value
    return found


def _parts(text: str) -> Iterator[str]:
    """Yield what commas separate, except those inside brackets and double quotes: they belong to a value."""
    depth, quoted, begin = 0, False, 0
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter in "[{") - (letter in "]}")
            if letter == "," and depth == 0:
                yield text[begin:place]
                begin = place + 1
    if text[begin:].strip() or begin == 0:
        yield text[begin:]
