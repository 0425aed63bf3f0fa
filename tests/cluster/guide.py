"""Reads the settings from the operators' guide, so that the tests use exactly those."""

from __future__ import annotations

import re
from configparser import RawConfigParser
from functools import cache
from pathlib import Path

GUIDE = Path(__file__).parent.parent.parent / "docs" / "operators" / "high-availability.md"
_LOGIN = "leasehold:DATABASE_PASSWORD@"


@cache
def blocks(title: str) -> tuple[dict[str, str], ...]:
    """Return the blocks of settings in a section of the guide, each as names and values."""
    _, _, rest = GUIDE.read_text().partition(f"\n## {title}\n")
    section, _, _ = rest.partition("\n## ")
    texts = re.findall(r"(?:^    .*\n)+", section, re.MULTILINE)
    return tuple(_read(re.sub(r"^    ", "", text, flags=re.MULTILINE)) for text in texts)


def _read(text: str) -> dict[str, str]:
    parser = RawConfigParser()
    parser.read_string(text if text.startswith("[") else f"[server]\n{text}")
    (section,) = parser.sections()
    return dict(parser[section])


def of_server(title: str) -> dict[str, str]:
    """Return the guide's settings for the database servers."""
    return blocks(title)[0]


def of_leasehold(title: str) -> dict[str, object]:
    """Return the guide's settings for our `[database]` section, without the connection."""
    return {name: value for name, value in blocks(title)[1].items() if name != "connection"}


def connection(title: str, login: str, database: str, *servers: str) -> str:
    """Return the guide's URL with these servers, as host and port, in place of the example servers."""
    url = blocks(title)[1]["connection"].replace(_LOGIN, f"{login}@").replace("/leasehold", f"/{database}")
    places = re.findall(r"NODE|DB\d:5432", url)
    for place, server in zip(places, servers, strict=True):
        url = url.replace(place, server)
    return url
