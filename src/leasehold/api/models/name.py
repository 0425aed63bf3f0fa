"""Names that people give: each is a line of text that a list, a terminal and a calendar program can show."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field

LONGEST_NAME: Final = 80
_CONTROLS: Final = r"\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069"
"""Control characters, ends of lines, and what turns the direction of the text that follows."""
_CONTROL: Final = re.compile(f"[{_CONTROLS}]")
_LINE: Final = {"pattern": f"^[^{_CONTROLS}]*$"}
_NAME: Final = {"pattern": f"^[^{_CONTROLS}]*[^{_CONTROLS}\\s][^{_CONTROLS}]*$"}
"""For the OpenAPI description only: the functions below say what is wrong in sentences."""


def _line(text: str) -> str:
    if _CONTROL.search(text):
        message = "it has a control character, such as the end of a line; leave that out"
        raise ValueError(message)
    return text


def _name(text: str) -> str:
    if not text.strip():
        message = "it is empty; give a name, by which it can be found again"
        raise ValueError(message)
    return _line(text)


Name = Annotated[str, Field(max_length=LONGEST_NAME, json_schema_extra=_NAME), AfterValidator(_name)]
OptionalName = Annotated[str, Field(max_length=LONGEST_NAME, json_schema_extra=_LINE), AfterValidator(_line)]
"""The name of what need not have one; it is empty then."""
LONGEST_PURPOSE: Final = 255
Purpose = Annotated[
    str,
    Field(max_length=LONGEST_PURPOSE, json_schema_extra=_LINE, description="From 1.3 on: what it is for, in words"),
    AfterValidator(_line),
]
LONGEST_OF_SERIES: Final = 70
"""The leases of a series have its name and their number."""
NameOfSeries = Annotated[str, Field(max_length=LONGEST_OF_SERIES, json_schema_extra=_NAME), AfterValidator(_name)]
