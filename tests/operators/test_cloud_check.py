"""`leasehold-status cloud check`: a wrong password, a refused account and a missing filter before the first host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from leasehold.cmd import status
from tests.processes import as_text
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.serving import Answer, Asked

SERVICES = ("nova", "placement", "neutron")
EMPTY = json.dumps(
    {"availabilityZoneInfo": [], "hypervisors": [], "services": [], "resource_providers": [], "floatingips": []}
).encode()
ENABLED = {
    "available_filters": "leasehold_nova.filter.LeaseholdFilter",
    "enabled_filters": "ComputeFilter,LeaseholdFilter",
}


def check(capsys: pytest.CaptureFixture[str], folder: Path, *words: str, **sections: Mapping[str, object]) -> str:
    """Run the check on this configuration; return the exit code and the names with their results, and the details."""
    file = folder / "leasehold.conf"
    file.write_text(as_text(sections))
    code = status.run(["cloud", "check", "--config-file", str(file), *words])
    lines = [line.strip("| ") for line in capsys.readouterr().out.splitlines()]
    return f"{code} {' '.join(' '.join(lines).split())}"


def services(url: str) -> dict[str, dict[str, str]]:
    options = {"min_version": "", "max_version": ""}
    return {name: {**options, "endpoint_override": f"{url}/{name}"} for name in SERVICES}


def test_a_wrong_password_is_said_for_each_service_and_not_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    refusal = json.dumps({"error": {"code": 401, "message": "The request requires authentication."}}).encode()
    with serving(lambda _: (401, {"Content-Type": "application/json"}, refusal)) as url:
        account = {"username": "leasehold", "password": "a-secret", "user_domain_name": "Default"}
        account |= {
            "auth_type": "v3password",
            "auth_url": f"{url}/v3",
            "project_name": "service",
            "project_domain_name": "Default",
        }
        said = check(capsys, tmp_path, cloud=account)
    assert said.startswith("2 ")
    assert said.count("Result: Failure") == 3
    assert "Keystone does not accept" in said
    assert "a-secret" not in said


def test_an_account_that_a_service_refuses_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def answer(asked: Asked) -> Answer:
        return (403 if asked.path.startswith("/nova") else 200), {"Content-Type": "application/json"}, EMPTY

    with serving(answer) as url:
        said = check(capsys, tmp_path, cloud={"auth_type": "none"}, **services(url))
    assert said.startswith("2 ")
    assert "Check: Nova Result: Failure" in said
    assert "Check: Placement Result: Success" in said
    assert "Check: Neutron Result: Success" in said
    assert "Check: Filter Result: Warning" in said


@pytest.mark.parametrize(
    ("scheduler", "ours", "words"),
    [
        (ENABLED, {}, "0 "),
        ({**ENABLED, "enabled_filters": "ComputeFilter"}, {}, "Leases are not enforced"),
        ({**ENABLED, "available_filters": "nova.scheduler.filters.all_filters"}, {}, "nova-scheduler cannot start"),
        (ENABLED, {"aggregate_freepool_name": "spare"}, "aggregate_freepool_name"),
    ],
)
def test_the_filter_is_looked_for_in_the_configuration_of_the_scheduler(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    scheduler: Mapping[str, str],
    ours: Mapping[str, str],
    words: str,
) -> None:
    nova = tmp_path / "nova.conf"
    nova.write_text(as_text({"filter_scheduler": scheduler, "blazar:physical:host": ours}))
    with serving(lambda _: (200, {"Content-Type": "application/json"}, EMPTY)) as url:
        said = check(capsys, tmp_path, "--nova-config", str(nova), cloud={"auth_type": "none"}, **services(url))
    assert (words in said) if words != "0 " else said.startswith(words)


def test_without_an_account_and_without_the_file_there_is_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "No account for the cloud is configured" in check(capsys, tmp_path)
    assert "needs no account" in check(capsys, tmp_path, cloud={"driver": "sandbox"})
    with serving(lambda _: (200, {"Content-Type": "application/json"}, EMPTY)) as url:
        where = ("--nova-config", str(tmp_path / "nowhere.conf"))
        said = check(capsys, tmp_path, *where, cloud={"auth_type": "none"}, **services(url))
    assert "cannot be read" in said
