"""Options of the console are read into frozen settings; ways to sign in that cannot work end the start."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.conf.errors import ConfigurationError
from leasehold.features.console.options import ConsoleSettings
from leasehold.features.registry import load

if TYPE_CHECKING:
    from pathlib import Path


def read(folder: Path, lines: str) -> ConsoleSettings:
    path = folder / "leasehold.conf"
    path.write_text(lines, encoding="utf-8")
    return load(["--config-file", str(path)]).settings.of(ConsoleSettings)


def test_the_console_is_on_and_says_how_people_sign_in(tmp_path: Path) -> None:
    default = read(tmp_path, "")
    assert (default.enabled, default.insecure_http, default.domain, default.websso) == (True, False, "Default", ())
    assert (default.idle, default.longest) == (timedelta(minutes=30), timedelta(hours=12))
    lines = """
[console]
enabled = false
idle_seconds = 0
session_seconds = 3600
public_url = https://leases.example/console/
keystone_url = https://keystone.example/v3
websso = openid=University login, acme/saml2 = ACME
"""
    found = read(tmp_path, lines)
    assert (found.enabled, found.idle, found.longest) == (False, timedelta(0), timedelta(hours=1))
    assert (found.public_url, found.keystone_url) == ("https://leases.example/console", "https://keystone.example/v3")
    assert [(each.id, each.protocol, each.provider, each.label) for each in found.websso] == [
        ("openid", "openid", None, "University login"),
        ("acme/saml2", "saml2", "acme", "ACME"),
    ]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("websso = openid=U", "needs public_url"),
        ("public_url = https://a/console\nwebsso = openid", "PROTOCOL=LABEL"),
        ("public_url = https://a/console\nwebsso = a/b/openid=U", "PROTOCOL=LABEL"),
        ("public_url = https://a/console\nwebsso = =U", "PROTOCOL=LABEL"),
        ("public_url = leases.example/console", "is not a URL"),
        ("public_url = https://a/console?x=y", "is not a URL"),
        ("keystone_url = ftp://a/v3", "is not a URL"),
    ],
)
def test_a_way_to_sign_in_that_cannot_work_ends_the_start(tmp_path: Path, lines: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        read(tmp_path, f"[console]\n{lines}\n")
