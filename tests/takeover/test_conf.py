"""An existing `blazar.conf` is found in its usual location, and options without effect are reported."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from leasehold import conf
from leasehold.conf import blazar

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = """
[DEFAULT]
transport_url = rabbit://guest:secret@127.0.0.1:5672/
rpc_response_timeout = 60
os_admin_username = blazar
os-region-name = RegionOne
auth_strategy = keystone
debug = false
[manager]
plugins = physical.host.plugin,virtual.floatingip.plugin
event_max_retries = 3
minutes_before_end_laese = 5
[database]
connection = mysql+pymysql://blazar:secret@127.0.0.1/blazar
max_pool_size = 10
[keystone_authtoken]
auth_url = http://127.0.0.1:5000/v3
[oslo_messaging_rabbit]
rabbit_ha_queues = true
[site_plugin]
colour = blue
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "blazar.conf"
    path.write_text(SAMPLE)
    return path


def test_options_without_effect_are_named_with_the_reason(file: Path) -> None:
    said = blazar.ineffective(conf.load(["--config-file", str(file)]).raw)
    named = {sentence.split(f" in {file}")[0]: sentence for sentence in said}
    assert set(named) == {
        "[DEFAULT] rpc_response_timeout",
        "[manager] event_max_retries",
        "[manager] minutes_before_end_laese",
        "[database] max_pool_size",
        "[site_plugin] colour",
    }
    assert "no message queue" in named["[DEFAULT] rpc_response_timeout"]
    assert "check its spelling" in named["[manager] minutes_before_end_laese"]
    assert not any("secret" in sentence for sentence in said)


def test_a_file_of_our_own_comes_first(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("leasehold.conf.load"), "BLAZAR_FILE", file)
    assert conf.load().settings.plugins == ("physical:host", "virtual:floatingip")
    (tmp_path / "leasehold.conf").write_text("[manager]\nplugins = physical:host\n")
    assert conf.load().settings.plugins == ("physical:host",)


def test_no_option_is_both_meaningless_and_ours() -> None:
    config = conf.load([]).raw
    for section, option in blazar.MEANINGLESS:
        assert option == "*" or not blazar._known(config, section, option), (section, option)
