"""The settings in `[keystone_authtoken]`: invalid ones end the start, and secrets never appear in the log."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from leasehold.conf import ConfigurationError
from tests.api.keystone.conftest import ask, authenticator, identify
from tests.api.keystone.server import SERVICES_OWN, Keystone

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.keystone.conftest import Configured


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"auth_type": ""}, "needs a user of its own"),
        ({"auth_type": "nonsense"}, "nonsense"),
        ({"auth_url": None}, "auth_url"),
        ({"auth_url": ""}, "www_authenticate_uri"),
    ],
)
def test_what_cannot_work_ends_the_start_with_a_sentence(
    configured: Configured, changes: dict[str, str | None], reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason) as caught:
        authenticator(configured(**changes))
    assert "[keystone_authtoken]" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_credentials_may_stand_in_a_section_of_their_own(configured: Configured, keystone: Keystone) -> None:
    lines = ("[us]", "auth_type = password", f"auth_url = {keystone.url}", "username = u", "password = p")
    raw = configured(*lines, auth_section="us", www_authenticate_uri="https://keystone.example/v3")
    authentication = authenticator(raw)
    assert authentication.challenge == 'Keystone uri="https://keystone.example/v3"'
    assert identify(authentication, X_Auth_Token=keystone.issue("t", "member")).user_id == "user-of-t"


def test_our_defaults_stand_below_the_file(configured: Configured) -> None:
    raw = configured("http_request_max_retries = 7")
    authenticator(raw)
    group = raw["keystone_authtoken"]
    assert (group.service_type, group.http_connect_timeout, group.http_request_max_retries) == ("reservation", 10, 7)
    assert group.service_token_roles_required


@pytest.mark.slow
def test_secrets_stay_out_of_the_log(
    web: testing.TestClient, keystone: Keystone, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        assert ask(web, keystone.issue("t", "member", "reader", token="good-token")).status_code == 200
        ask(web, "bad-token")
        keystone.failing = 503
        ask(web, "lost-token")
    assert "Authorization failed for token" in caplog.text
    for secret in ("good-token", "bad-token", "lost-token", SERVICES_OWN, "secret-of-the-service"):
        assert secret not in caplog.text


@pytest.mark.slow
def test_it_brings_in_no_green_threads_and_only_where_it_is_used() -> None:
    program = (
        "import sys, leasehold.api.app;"
        "assert 'keystonemiddleware' not in sys.modules;"
        "import leasehold.api.auth.keystone;"
        "assert not {'eventlet', 'greenlet', 'oslo_messaging'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
