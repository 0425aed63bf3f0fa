"""Text that others wrote, such as the names of their leases, made harmless for a terminal."""

from __future__ import annotations

import re

_STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but the end of a line, and what turns the direction of writing."""


def visible(text: str) -> str:
    r"""Return the text with what would steer a terminal written out, such as `\x1b` for an escape."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """Return the same with the ends of lines written out as well, so that a name cannot pass for lines of ours."""
    return visible(text).replace("\n", r"\n")
