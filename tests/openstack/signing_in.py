"""Signing in at the console in a browser, with the accounts of the cloud's Keystone, and with some that want more.

open_form(browser, site, "leases")
send_form(browser, user="demo", password=cloud.password)
wait_until_signed_in(browser, "demo")
"""

from __future__ import annotations

import time
from base64 import b32encode
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from selenium.webdriver.support.select import Select

from tests.openstack.cloud import databases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.console.browser import Browser
    from tests.openstack.cloud import RunningCloud
    from tests.openstack.leasehold import RunningLeasehold
    from tests.openstack.person import Person

NAME = "careful"
"""The user of `account`."""


def open_form(browser: Browser, site: RunningLeasehold, page: str = "start", method: str = "password") -> None:
    """Open a page without a session, and choose a way to sign in over it."""
    browser.open(site, page)
    browser.role("dialog", "Sign in to Leasehold")
    Select(browser.find("#field-method")).select_by_value(method)


def send_form(browser: Browser, **fields: str) -> None:
    for name, value in fields.items():
        browser.type(name, value)
    browser.find("dialog button[type=submit]").click()


def wait_until_signed_in(browser: Browser, user: str) -> None:
    browser.until(lambda: browser.find(".who").text == user)
    browser.until(lambda: not browser.roles("dialog"))


def sign_in(browser: Browser, site: RunningLeasehold, person: Person, page: str = "start") -> None:
    open_form(browser, site, page)
    send_form(browser, user=person.name, password=person.cloud.password)
    wait_until_signed_in(browser, person.name)


def sign_out(browser: Browser) -> None:
    """Sign out, and wait until the session is over."""
    browser.role("button", "Sign out").click()
    browser.role("dialog", "Sign in to Leasehold")
    browser.until(lambda: browser.driver.get_cookies() == [])


@contextmanager
def account(admin: Person, **options: Any) -> Iterator[str]:
    """Create another user, a member of the project `demo`, with these options of Keystone; yields its id.

    Nobody may be signed in as this user at the end.
    """
    identity = admin.sdk.identity
    body = {"name": NAME, "password": admin.cloud.password, "domain_id": "default", "options": options}
    user = str(identity.post("/users", json={"user": body}).json()["user"]["id"])
    try:
        identity.assign_project_role_to_user(identity.find_project("demo"), user, identity.find_role("member"))
        yield user
    finally:
        identity.delete_user(user)


def expire_password(cloud: RunningCloud, user: str) -> None:
    """Let the time of a password be over, which Keystone itself counts in whole days."""
    of_the_user = f"local_user_id = (SELECT id FROM keystone.local_user WHERE user_id = '{user}')"  # noqa: S608 - Keystone's own id
    expired = f"UPDATE keystone.password SET expires_at_int = 1, expires_at = '1970-01-01' WHERE {of_the_user}"  # noqa: S608
    databases.execute(cloud.site.home, "SET autocommit = 1", expired)


class Device:
    """What a person has besides the password: it makes codes that are true for half a minute (RFC 6238)."""

    def __init__(self) -> None:
        self._secret = uuid4().bytes

    def register(self, admin: Person, user: str) -> None:
        """Tell Keystone the secret."""
        blob = b32encode(self._secret).decode()
        admin.sdk.identity.create_credential(type="totp", user=user, blob=blob, user_id=user, project=None)

    def code(self) -> str:
        return TOTP(self._secret, 6, SHA1(), 30).generate(time.time()).decode()  # noqa: S303
