"""Contract lifecycle §11: options have Blazar's names and defaults, and are read into frozen settings."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from oslo_config import cfg, types

from leasehold import conf
from leasehold.cmd.options import configure
from leasehold.conf.load import GROUPS
from leasehold.features.registry import load, options
from leasehold.features.subscription.settings import DeliverySettings
from leasehold.model.resource import FLOATING_IP, HOST

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(tmp_path: Path, text: str, name: str = "leasehold.conf") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_11_defaults() -> None:
    config = load()
    assert (config.api.host, config.api.port) == ("0.0.0.0", 1234)  # noqa: S104 - Blazar's default
    assert config.api.auth_strategy == "keystone"
    assert config.settings.leases.before_end == timedelta(minutes=60)
    assert config.settings.leases.cleaning_time == timedelta(0)
    assert config.settings.leases.max_duration is None
    assert config.settings.cloud.freepool == "freepool"
    assert config.settings.cloud.zone_prefix == "blazar_"
    assert config.settings.manager.healing_interval == timedelta(minutes=60)
    assert config.settings.manager.failure_grace == timedelta(minutes=2)


def test_11_an_existing_blazar_conf_is_understood(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
[DEFAULT]
host = 192.0.2.7
port = 8000
auth_strategy = http_basic
cleaning_time = 5
cleaning_time_by_type = physical:host=30, site:device=0
lead_time_by_type = physical:host=90, site:device=0
os_admin_password = not-ours
[manager]
plugins = dummy.vm.plugin, physical.host.plugin, virtual.instance.plugin, physical.host.plugin, site:special
minutes_before_end_lease = 0
[enforcement]
enabled_filters = MaxLeaseDurationFilter
max_lease_duration = 86400
max_lease_duration_exempt_project_ids = a, b
[nova]
aggregate_freepool_name = pool
blazar_owner = owner
image_prefix = kept_
az_aware = False
[physical:host]
blazar_az_prefix = zone_
before_end = snapshot
healing_interval = 0
polling_interval = 10
enable_polling_monitor = False
[database]
connection = mysql+pymysql://blazar:secret@db/blazar
""",
        "blazar.conf",
    )
    config = load(["--config-file", path])
    leases, cloud, manager = config.settings.leases, config.settings.cloud, config.settings.manager
    assert (config.api.host, config.api.port, config.api.auth_strategy) == ("192.0.2.7", 8000, "http_basic")
    assert config.settings.plugins == ("physical:host", "virtual:instance", "site:special")
    assert (leases.cleaning_time, leases.before_end) == (timedelta(minutes=5), timedelta(0))
    assert leases.cleaning_time_by_type == {"physical:host": timedelta(minutes=30), "site:device": timedelta(0)}
    assert leases.lead_time_by_type == {"physical:host": timedelta(minutes=2), "site:device": timedelta(0)}
    assert leases.enforcement_filters == ("MaxLeaseDurationFilter",)
    assert leases.max_duration == timedelta(days=1)
    assert leases.max_duration_exempt_projects == {"a", "b"}
    assert (cloud.freepool, cloud.owner_key, cloud.image_prefix, cloud.zones) == ("pool", "owner", "kept_", False)
    assert (cloud.zone_prefix, cloud.default_before_end) == ("zone_", "snapshot")
    assert manager.unpolled == {HOST}
    assert (manager.health_seconds, manager.healing_interval) == (10.0, timedelta(0))
    assert manager.failure_grace == timedelta(seconds=20)
    assert config.database_url == "mysql+pymysql://blazar:secret@db/blazar"
    assert "secret" not in repr(config)


def test_the_lead_of_hosts_has_an_option_of_its_own_too(tmp_path: Path) -> None:
    written(tmp_path, "[physical:host]\nlead_seconds = 600\n")
    assert load().settings.leases.lead_time_by_type == {HOST: timedelta(minutes=10)}
    written(tmp_path, "[DEFAULT]\nlead_time_by_type = physical:host=600\n[physical:host]\nlead_seconds = 600\n")
    assert load().settings.leases.lead_time_by_type == {HOST: timedelta(minutes=10)}
    written(tmp_path, "[DEFAULT]\nlead_time_by_type = physical:host=0\n")
    assert load().settings.leases.lead_time_by_type == {}


def test_types_that_are_gone_for_good_have_blazars_names_as_well(tmp_path: Path) -> None:
    written(tmp_path, "[manager]\nplugins = physical:host\nforgotten_plugins = virtual.floatingip.plugin, site:badge\n")
    assert load().settings.manager.forgotten_plugins == {"virtual:floatingip", "site:badge"}
    written(tmp_path, "[manager]\nplugins = physical.host.plugin\nforgotten_plugins = physical:host, site:badge\n")
    with pytest.raises(
        conf.ConfigurationError, match=r"forgotten_plugins names physical:host, which \[manager\] plugins"
    ):
        load()


def test_the_floor_of_the_reservation_pool_is_not_above_its_ceiling(tmp_path: Path) -> None:
    written(tmp_path, "[physical:host]\npool_floor = 2\npool_ceiling = 2\npool_seconds = 30\n")
    settings = load().settings.manager
    size = settings.pool_sizes[HOST]
    assert (settings.pool_seconds, size.floor, size.ceiling) == (30.0, 2, 2)
    written(tmp_path, "[physical:host]\npool_floor = 3\npool_ceiling = 2\n")
    with pytest.raises(conf.ConfigurationError, match="pool_floor is 3"):
        load()


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("", set()),
        ("[physical:host]\nenable_notification_monitor = true\n", {HOST}),
        ("[notifications]\npushed_types = virtual.floatingip.plugin, site:badge\n", {FLOATING_IP, "site:badge"}),
        (
            "[notifications]\npushed_types = virtual:floatingip\n[physical:host]\nenable_notification_monitor = true\n",
            {HOST, FLOATING_IP},
        ),
        ("[notifications]\npushed_types = physical:host\n[manager]\nunpolled_types = virtual:floatingip\n", {HOST}),
    ],
)
def test_which_types_are_looked_at_on_a_notification(tmp_path: Path, text: str, types: set[str]) -> None:
    """Whether the types exist is known when their plugins are loaded."""
    assert load(["--config-file", written(tmp_path, text)]).settings.bridge.pushed == types


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", (86_400, 2_400, 600, 120)),
        ("warn_before_end = 5m, 2d,90s, 5m", (172_800, 300, 90)),
        ("warn_before_end =", ()),
    ],
)
def test_when_an_end_is_warned_of(tmp_path: Path, text: str, seconds: tuple[int, ...]) -> None:
    manager = load(["--config-file", written(tmp_path, f"[manager]\n{text}\n")]).settings.manager
    assert manager.warn_before_end == seconds


def test_how_events_are_sent(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
[delivery]
allowed_networks = 10.1.0.0/16, fd00::/8
refused_networks = 192.0.2.0/24
[email]
host = mail.example.org
security = tls
port = 465
username = leasehold
password = pass-word
sender = Leases <leases@example.org>
allowed_domains = Example.org, cs.example.edu
apart_seconds = 60
""",
    )
    settings = load(["--config-file", path]).settings
    delivery = settings.of(DeliverySettings)
    email = delivery.email
    assert list(map(str, delivery.allowed_networks)) == ["10.1.0.0/16", "fd00::/8"]
    assert list(map(str, delivery.refused_networks)) == ["192.0.2.0/24"]
    assert (email.host, email.port, email.security, email.username) == ("mail.example.org", 465, "tls", "leasehold")
    assert (email.sender, email.apart) == ("Leases <leases@example.org>", timedelta(minutes=1))
    assert email.allowed_domains == ("example.org", "cs.example.edu")
    assert email.password == "pass-word"
    assert "pass-word" not in repr(settings)


def test_default_properties_are_json_in_which_a_dollar_is_doubled(tmp_path: Path) -> None:
    text = '{"physical:host": ["==", "$$gpu", "False"], "site:lamp": ["not", ["==", "$$hue", "é"]]}'
    path = written(tmp_path, f"[manager]\ndefault_properties_by_type = {text}\n")
    found = load(["--config-file", path]).settings.leases.default_properties_by_type
    assert found == {
        "physical:host": '["==", "$gpu", "False"]',
        "site:lamp": '["not", ["==", "$hue", "\\u00e9"]]',
    }


def test_the_file_in_the_working_directory_is_found(tmp_path: Path) -> None:
    written(tmp_path, "[DEFAULT]\nport = 4321\n")
    assert load().api.port == 4321


def test_defaults_of_a_program_stand_below_the_file(tmp_path: Path) -> None:
    written(tmp_path, "[DEFAULT]\nport = 4321\n")
    defaults = {("DEFAULT", "port"): 1, ("DEFAULT", "host"): "127.0.0.1", ("api", "auth_strategy"): "none"}
    config = load(defaults=defaults)
    assert (config.api.port, config.api.host, config.api.auth_strategy) == (4321, "127.0.0.1", "none")


@pytest.mark.parametrize(
    "text",
    [
        "[DEFAULT]\nport = many\n",
        "[DEFAULT]\ncleaning_time = -1\n",
        "[DEFAULT]\ncleaning_time_by_type = physical:host\n",
        "[DEFAULT]\ncleaning_time_by_type = physical:host=soon\n",
        "[DEFAULT]\ncleaning_time_by_type = physical:host=1441\n",
        "[DEFAULT]\ncleaning_time_by_type = physical:host=1, physical:host=2\n",
        "[DEFAULT]\nlead_time_by_type = physical:host\n",
        "[DEFAULT]\nlead_time_by_type = physical:host=1, physical:host=2\n",
        "[DEFAULT]\nlead_time_by_type = physical:host=60\n[physical:host]\nlead_seconds = 90\n",
        "[manager]\ndefault_properties_by_type = physical:host\n",
        '[manager]\ndefault_properties_by_type = ["==", "$$a", "b"]\n',
        '[manager]\ndefault_properties_by_type = {"physical:host": ["==", "$a", "b"]}\n',
        '[manager]\ndefault_properties_by_type = {"physical:host": ["==", "$host", "b"]}\n',
        '[manager]\ndefault_properties_by_type = {"physical:host": ["is", "$$a", "b"]}\n',
        '[manager]\ndefault_properties_by_type = {"physical:host": []}\n',
        '[manager]\ndefault_properties_by_type = {"physical:host": "gpu"}\n',
        "[DEFAULT\n",
        "[oslo_policy]\npolicy_file = nope.yaml\n",
        "[delivery]\nallowed_networks = everywhere\n",
        "[delivery]\nrefused_networks = 10.0.0.1/8\n",
        "[manager]\nwarn_before_end = soon\n",
        "[manager]\nwarn_before_end = 24h, 0m\n",
        "[manager]\nwarn_before_end = 400d\n",
        f"[manager]\nwarn_before_end = {','.join(f'{each}m' for each in range(1, 22))}\n",
        "[email]\nhost = mail.example.org\n",
        "[email]\nhost = mail.example.org\nsender = nobody\n",
        "[email]\ntemplates = nowhere\n",
        "[email]\nusername = leasehold\n",
        "[email]\nsecurity = perhaps\n",
    ],
)
def test_what_cannot_be_used_ends_with_a_sentence(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(conf.ConfigurationError):
        load(["--config-file", path])
    with pytest.raises(SystemExit) as left:
        configure("leasehold-api", ["--config-file", path])
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("leasehold-api: The ")


def test_the_policy_file_is_found_beside_the_configuration(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    policy = written(tmp_path, "{}", "policy.yaml")
    assert load(["--config-file", path]).api.policy.file == policy


TOO_LONG = {
    "manager": ("minutes_before_end_lease",),
    "enforcement": ("max_lease_duration", "max_start_lookahead", "max_end_lookahead"),
    "physical:host": (
        "healing_interval",
        "polling_interval",
        "failure_grace",
        "snapshot_wait_seconds",
        "suspend_wait_seconds",
    ),
}


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, names in TOO_LONG.items() for name in names])
@pytest.mark.parametrize("value", [10**15, 10**30])
def test_a_time_that_is_longer_than_any_calendar_is_refused_by_name(
    tmp_path: Path, group: str, name: str, value: int
) -> None:
    written(tmp_path, f"[{group}]\n{name} = {value}\n")
    with pytest.raises(conf.ConfigurationError, match=name):
        load()


class Listener(cfg.ConfigOpts):
    """Records the options of numbers that are registered, with their groups."""

    def __init__(self) -> None:
        self.numbers: list[tuple[str, cfg.Opt]] = []
        super().__init__()

    def register_opt(self, opt: cfg.Opt, group: Any = None, **more: Any) -> bool:
        if isinstance(opt.type, types.Float | types.Integer):
            self.numbers.append((getattr(group, "name", group) or "DEFAULT", opt))
        return bool(super().register_opt(opt, group=group, **more))


@pytest.mark.slow
def test_nothing_takes_a_number_that_cannot_be_counted_with(tmp_path: Path) -> None:
    """Every option of a number, also of the libraries, refuses what is none or beyond all bounds."""
    listener = Listener()
    for each in GROUPS:
        each.register(listener)
    for more in options():
        more.register(listener)
    assert len(listener.numbers) > 100
    accepted = []
    for group, option in listener.numbers:
        for value in ("inf", "-inf", "nan", "1e300") if isinstance(option.type, types.Float) else ("9" * 25,):
            written(tmp_path, f"[{group}]\n{option.dest} = {value}\n")
            with contextlib.suppress(conf.ConfigurationError):
                load()
                accepted.append((group, option.dest, value))
    assert accepted == []


def test_the_longest_times_that_are_accepted_can_be_counted_with(tmp_path: Path) -> None:
    year = {"minutes_before_end_lease": 366 * 24 * 60}
    written(tmp_path, "[manager]\n" + "".join(f"{name} = {value}\n" for name, value in year.items()))
    assert load().settings.leases.before_end == timedelta(days=366)
    written(tmp_path, "[manager]\nminutes_before_end_lease = 527041\n")
    with pytest.raises(conf.ConfigurationError, match="minutes_before_end_lease"):
        load()
    written(tmp_path, "[manager]\nminutes_before_end_lease = -1\n")
    with pytest.raises(conf.ConfigurationError, match="minutes_before_end_lease"):
        load()


def test_the_region_has_a_name(tmp_path: Path) -> None:
    assert load().api.region == "RegionOne"
    written(tmp_path, "[DEFAULT]\nos_region_name = North\n")
    assert load().api.region == "North"
    # The region whose Nova the service works on is its own; a section comes before Blazar's option.
    written(tmp_path, "[DEFAULT]\nos_region_name = North\n[nova]\nregion_name = South\n")
    assert load().api.region == "South"
    written(tmp_path, "[regions]\nname = West\n[nova]\nregion_name = South\n")
    assert load().api.region == "West"
