"""The reference pages match the code, and every option has a complete help text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from leasehold.cmd.web import list_rules
from leasehold.conf.opts import list_library_opts
from leasehold.features.registry import list_opts

# keystonemiddleware imports WebOb, which uses the deprecated module `cgi`.
pytestmark = pytest.mark.filterwarnings("ignore:'cgi' is deprecated:DeprecationWarning")

ROOT = Path(__file__).parent.parent.parent
LIBRARY_TEXTS = {
    "cloud",
    "nova",
    "placement",
    "neutron",
    "glance",
    "cinder",
    "cloudkitty",
    "ironic",
    "unified_limits",
    "keystone_authtoken",
}
"""Sections with options of keystoneauth, which have its help texts."""


def test_the_pages_are_up_to_date() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference.py", "--check"], check=False, capture_output=True, text=True
    )
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stdout + checked.stderr


def test_every_option_of_ours_has_a_help_text_in_sentences() -> None:
    for group, options in list_opts():
        for option in options:
            assert option.help, f"[{group}] {option.name}"
            if group not in LIBRARY_TEXTS:
                assert option.help.endswith("."), f"[{group}] {option.name}: {option.help}"


def test_every_option_is_listed_once() -> None:
    listed = [(group, option.dest) for group, options in list_opts() for option in options]
    assert len(listed) == len(set(listed))
    libraries = {(group, option.dest) for group, options in list_library_opts() for option in options}
    assert not libraries & set(listed)


def test_a_time_says_its_unit() -> None:
    units = ("second", "minute")
    for group, options in list_opts():
        for option in options:
            timed = any(word in option.dest for word in ("time", "seconds", "minutes", "interval", "duration"))
            if timed and group not in LIBRARY_TEXTS and "project_ids" not in option.dest:
                text = (option.help or "").lower()
                assert any(unit in text for unit in units), f"[{group}] {option.name}: {text}"


def test_the_page_of_policies_has_every_rule() -> None:
    page = (ROOT / "docs" / "reference" / "policies.md").read_text(encoding="utf-8")
    assert [rule.name for rule in list_rules() if f"`{rule.name}`" not in page] == []
