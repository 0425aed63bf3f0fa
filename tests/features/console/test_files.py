"""The console's files: which are served, with which types and headers, and what is not served."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cmd.web import make_app
from leasehold.features.console.files import Files, installed_files
from leasehold.features.console.options import ConsoleSettings
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.features.console.browser import Browser

RULE_4 = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types lit-html"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@pytest.fixture
def strange(browser: Browser) -> Browser:
    """A browser without cookies that follows a link of another site to the console."""
    return browser.but(site="cross-site", shell=False)


def test_the_page_and_what_it_loads_are_public_and_carry_every_header(strange: Browser) -> None:
    page = strange.ask("GET", "")
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    loaded = re.findall(r'(?:src|href)="\./([^"]+)"', page.text)
    assert {name.rpartition(".")[2] for name in loaded} >= {"mjs", "css"}
    types = {
        "mjs": "text/javascript; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "svg": "image/svg+xml",
        "woff2": "font/woff2",
    }
    for name in loaded:
        answer = strange.ask("GET", name)
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, types[name.rpartition(".")[2]])
        assert {key: answer.headers.get(key) for key in RULE_4} == RULE_4
    assert {key: page.headers.get(key) for key in RULE_4} == RULE_4
    assert not page.cookies


def test_a_browser_asks_each_time_and_gets_a_file_once(strange: Browser) -> None:
    page = strange.ask("GET", "")
    assert page.headers["Cache-Control"] == "no-cache"
    for had in (page.headers["ETag"], f"W/{page.headers['ETag']}", f'"other", {page.headers["ETag"]}'):
        again = strange.ask("GET", "", headers={"If-None-Match": had})
        assert (again.status_code, again.text) == (304, "")
        assert again.headers["ETag"] == page.headers["ETag"]
    assert strange.ask("GET", "", headers={"If-None-Match": '"other"'}).status_code == 200
    head = strange.ask("HEAD", "")
    assert (head.status_code, head.text, head.headers["ETag"]) == (200, "", page.headers["ETag"])


def test_the_short_address_leads_to_the_page(strange: Browser) -> None:
    answer = strange.web.simulate_get("/console")
    assert (answer.status_code, answer.headers["Location"]) == (308, "console/")
    assert strange.web.simulate_get("/consolex").status_code != 308


@pytest.mark.parametrize(
    "path",
    [
        "../pyproject.toml",
        "..%2f..%2fpyproject.toml",
        "%2e%2e/%2e%2e/pyproject.toml",
        "vendor/../../__init__.py",
        "/etc/hostname",
        "//etc/hostname",
        ".hidden.css",
        "folder/",
        "folder",
        "leads-away.txt",
        "readme.md",
        "missing.mjs",
        "index.html/",
        "index.html%00.css",
        "\\..\\index.html",
        "a/" * 20 + "a.css",
    ],
)
def test_nothing_else_is_a_file(tmp_path: Path, path: str, strange: Browser) -> None:
    static = tmp_path / "static"
    (static / "folder").mkdir(parents=True)
    for name in (".hidden.css", "readme.md", "index.html", "folder/a.css"):
        (static / name).write_text(name)
    (tmp_path / "secret.txt").write_text("secret")
    (static / "leads-away.txt").symlink_to(tmp_path / "secret.txt")
    assert Files(static).find(path) is None
    assert strange.ask("GET", path.replace("\\", "%5c")).status_code == 404
    found = Files(static).find("folder/a.css")
    assert found is not None
    assert found.content == b"folder/a.css"


def test_a_file_that_changes_is_served_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("one")
    files = Files(tmp_path)
    before = files.find("")
    (tmp_path / "index.html").write_text("another")
    after = files.find("")
    assert before is not None
    assert after is not None
    assert (before.content, after.content) == (b"one", b"another")
    assert before.etag != after.etag


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/session", "/console/v1/leases", "/console/x.mjs"])
def test_there_is_no_console_where_it_is_off(service: Service, settings: ApiSettings, path: str) -> None:
    off = replace(service, settings=service.settings.having(ConsoleSettings(enabled=False)))
    answer = LocalClient(make_app(off, settings)).simulate_get(path, headers={"X-Leasehold-Console": "1"})
    assert answer.status_code == 404
    assert "There is no console here" in answer.json["error_message"]


def test_there_is_no_console_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed_files() is not None
    monkeypatch.setattr("leasehold.features.console.files.PACKAGE", "leasehold_console_that_nobody_has_installed")
    assert installed_files() is None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_files_are_only_read(strange: Browser, method: str) -> None:
    answer = strange.ask(method, "index.html")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert not [name for name in answer.headers if name.startswith("access-control")]
