"""Conditions on properties as people write them: `gpu=true`, `memory_mb>=65536`, `rack in a1,a2`. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leasehold_client.cli.reading.pairs import BadPairsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Condition = list[Any]
"""An expression of the API, as the list that its JSON is."""
EXAMPLES = """'gpu=true', 'memory_mb>=65536' or 'rack in a1,a2'"""
_COMPARISON = re.compile(r"\$?(?P<name>[^\s=!<>$]+)\s*(?P<operator>==|!=|<=|>=|=|<|>)\s*(?P<value>.*)", re.DOTALL)
_ONE_OF = re.compile(r"\$?(?P<name>[^\s=!<>$]+)\s+in\s+(?P<values>.*)", re.DOTALL)
_FORM = f"Write one such as {EXAMPLES}, in quotes because of the shell, or an expression in JSON."
_QUOTES = ("'", '"')
_CONDITIONS = ("hypervisor_properties", "resource_properties")
"""The keys of reservations that are conditions."""


def read_condition(text: str) -> Condition | None:
    """Return the condition of a text, which may be JSON: empty for any resource, None for an empty text.

    A value in quotes is taken as it is. Without them `true` and `false` mean either spelling that a property may have,
    because the service writes booleans as `True` and `False`. Raises BadPairsError.
    """
    stripped = text.strip()
    if not stripped:
        return None
    if stripped.startswith("["):
        return _expression(stripped)
    one_of, comparison = _ONE_OF.fullmatch(stripped), _COMPARISON.fullmatch(stripped)
    if one_of is not None:
        return ["in", f"${one_of['name']}", *(_bare(each, text) for each in one_of["values"].split(","))]
    if comparison is None:
        raise BadPairsError(f"{text!r} is no condition on a property. {_FORM}")
    return _compared(f"${comparison['name']}", comparison["operator"].replace("==", "="), comparison["value"], text)


def join_conditions(conditions: Sequence[Condition | None]) -> str:
    """Return the expression of the API that all conditions hold; empty without any.

    An empty condition is told as well: it asks for any resource, also one that has no default properties.
    """
    asked = [each for each in conditions if each is not None]
    told = [each for each in asked if each]
    if len(told) > 1:
        return json.dumps(["and", *told])
    return json.dumps((told or asked)[0]) if asked else ""


def with_conditions(reservation: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reservation whose conditions are in the API's form; a JSON text stays as it is. Raises BadPairsError."""
    written = {key: reservation[key] for key in _CONDITIONS if isinstance(reservation.get(key), str)}
    plain = {key: text for key, text in written.items() if text and not text.lstrip().startswith("[")}
    return {**reservation, **{key: join_conditions([read_condition(text)]) for key, text in plain.items()}}


def _expression(text: str) -> Condition:
    try:
        found: Condition = json.loads(text)
    except ValueError as error:
        raise BadPairsError(f"{text!r} is no JSON: {error}. {_FORM}") from None
    return found


def _compared(name: str, operator: str, value: str, text: str) -> Condition:
    bare = _bare(value, text)
    if value != bare or bare.lower() not in ("true", "false") or operator not in ("=", "!="):
        return ["==" if operator == "=" else operator, name, bare]
    either = ["in", name, bare.lower(), bare.capitalize()]
    # What lacks the property is not different from a value, as with any other one.
    return either if operator == "=" else ["and", *(["!=", name, each] for each in either[2:])]


def _bare(value: str, text: str) -> str:
    """Return a value without its quotes; raises BadPairsError for one that is missing or half quoted."""
    stripped = value.strip()
    if stripped[:1] in _QUOTES or stripped[-1:] in _QUOTES:
        if len(stripped) > 1 and stripped[0] == stripped[-1]:
            return stripped[1:-1]
        raise BadPairsError(f"{text!r} has a quote at one end of a value only. {_FORM}")
    if not stripped:
        raise BadPairsError(f"{text!r} names no value. {_FORM}")
    return stripped
