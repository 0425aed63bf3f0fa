"""The account that the service logs in with, and the regions and interfaces of the endpoints that it uses."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import pytest

from leasehold import conf
from leasehold.conf import ConfigurationError
from leasehold.conf.keystone import open_session
from tests.processes import as_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OURS = {"auth_type": "password", "auth_url": "http://ours/v3", "username": "leasehold", "password": "p"}
MIDDLEWARE = {**OURS, "auth_url": "http://middleware/v3"}
BLAZAR = {"os_auth_host": "theirs", "os_auth_port": "5000", "os_admin_username": "blazar", "os_admin_password": "p"}


def read(tmp_path: Path, **sections: Mapping[str, object]) -> Any:
    file = tmp_path / "leasehold.conf"
    file.write_text(as_text(sections))
    return conf.load(["--config-file", str(file)]).raw


@pytest.mark.parametrize(
    ("sections", "url"),
    [
        ({"cloud": OURS, "DEFAULT": BLAZAR, "keystone_authtoken": MIDDLEWARE}, "http://ours/v3"),
        ({"DEFAULT": BLAZAR, "keystone_authtoken": MIDDLEWARE}, "http://theirs:5000/v3"),
        ({"keystone_authtoken": MIDDLEWARE}, "http://middleware/v3"),
        ({"DEFAULT": {**BLAZAR, "os_auth_port": "", "os_auth_prefix": "/identity/"}}, "http://theirs/identity/v3"),
        ({"DEFAULT": {**BLAZAR, "os_auth_host": "fd00::5"}}, "http://[fd00::5]:5000/v3"),
        ({"DEFAULT": {**BLAZAR, "os_auth_host": "[fd00::5]"}}, "http://[fd00::5]:5000/v3"),
    ],
)
def test_our_own_section_comes_first_then_blazars_options_then_the_middlewares(
    tmp_path: Path, sections: Mapping[str, Mapping[str, object]], url: str
) -> None:
    account: Any = open_session(read(tmp_path, **sections)).auth
    assert account.auth_url == url


def test_no_account_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"No account for the cloud is configured\. Set auth_type"):
        open_session(read(tmp_path))


def test_an_unknown_way_to_log_in_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'passwrod' is not known"):
        read(tmp_path, cloud={"auth_type": "passwrod"})


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"auth_url": None}, r"\[cloud\] cannot be used: .*auth_url\. Set auth_type, auth_url"),
        ({"password": None}, r"\[cloud\] cannot be used: set password there\.$"),
        ({"password": None, "username": None}, r"\[cloud\] cannot be used: set password and username there\.$"),
    ],
)
def test_an_account_that_could_never_log_in_is_said_in_a_sentence(
    tmp_path: Path, changed: Mapping[str, str | None], sentence: str
) -> None:
    values = {name: value for name, value in {**OURS, **changed}.items() if value is not None}
    with pytest.raises(ConfigurationError, match=sentence):
        open_session(read(tmp_path, cloud=values))


@pytest.mark.parametrize("section", ["cloud", "database"])
def test_a_dollar_that_is_not_doubled_is_said_without_the_password(tmp_path: Path, section: str) -> None:
    values = {"cloud": OURS, "database": {"connection": "mysql+pymysql://us:p@there/leasehold"}}
    text = as_text({name: {key: f"{value}$secret" for key, value in values[name].items()} for name in [section]})
    file = tmp_path / "leasehold.conf"
    file.write_text(text.replace("$$", "$").replace("password$secret", "password"))
    with pytest.raises(ConfigurationError, match=r"cannot be used: .* Write it as \$\$\.$") as raised:
        open_session(conf.load(["--config-file", str(file)]).raw)
    assert "secret" not in "".join(traceback.format_exception(raised.value))


def test_blazars_region_and_interface_are_understood(tmp_path: Path) -> None:
    raw = read(
        tmp_path,
        DEFAULT={**BLAZAR, "os_region_name": "North", "cafile": "/certificates"},
        nova={"endpoint_type": "public"},
        neutron={"region_name": "South"},
    )
    session = open_session(raw)
    assert (raw.nova.region_name, raw.placement.region_name, raw.neutron.region_name) == ("North", "North", "South")
    assert (raw.nova.valid_interfaces, raw.placement.valid_interfaces) == (["public"], ["internal", "public"])
    assert session.verify == "/certificates"
