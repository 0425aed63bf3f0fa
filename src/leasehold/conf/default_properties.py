"""The option for the properties that reservations get preferably which name none (feature C9)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from leasehold.conf.errors import ConfigurationError, unusable
from leasehold.model.errors import MalformedExpressionError
from leasehold.model.properties import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "[manager] default_properties_by_type"
EXAMPLE = '{"physical:host": ["==", "$$gpu", "False"]}'
OPTION = cfg.StrOpt(
    "default_properties_by_type",
    default="",
    help="Which resources a reservation gets preferably that names no properties: a JSON object with a property "
    f"expression for each of some resource types, such as `{EXAMPLE}`. Each $ is doubled. If what matches is not "
    "enough, the reservation is decided without the expression, and says so. It is the same for all APIs.",
)


def read(text: str) -> Mapping[str, str]:
    """Return the expression of each type as JSON text; raises ConfigurationError."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError as error:
        raise _error(f"is no JSON ({error})") from None
    if not isinstance(found, dict):
        raise _error("is no JSON object")
    return {name: _expression(name, value) for name, value in found.items()}


def _expression(name: str, value: Any) -> str:
    if not isinstance(value, list) or not value:
        raise _error(f"has no expression for {name}")
    expression = json.dumps(value)
    try:
        parse(expression, name)
    except MalformedExpressionError as error:
        raise _error(f"has a wrong expression for {name} ({error.message})") from None
    return expression


def _error(what: str) -> ConfigurationError:
    return unusable(f"{NAME} {what}. Write it as {EXAMPLE}.")
