"""`lease list` and `lease show` against a running service."""

from __future__ import annotations

import csv
import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import yaml

from client.tests.booking import booked
from tests.processes import wait_for

if TYPE_CHECKING:
    from client.tests.conftest import Inside, Shell
    from leasehold_client import Client

pytestmark = pytest.mark.slow


def test_a_list_says_what_matters(shell: Shell, client: Client) -> None:
    later, sooner = booked(client, "later", timedelta(days=2), 2), booked(client, "sooner", timedelta(days=1))
    lines = shell.ok("lease", "list").out.splitlines()
    titles = [cell.strip() for cell in lines[1].strip("|").split("|")]
    assert titles == ["id", "name", "status", "what", "start_date", "end_date", "how_long"]
    first, second = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[3:5])
    assert (first[0], second[0]) == (sooner.id, later.id)
    assert second[2:4] == ["PENDING", "2 hosts"]
    local = later.start + timedelta(hours=5, minutes=45)
    assert second[4] == f"{local:%Y-%m-%d %H:%M} +0545"
    assert second[6].startswith("starts in 1 d 23 h")
    (row,) = [row for row in shell.ok("lease", "list", "-f", "json").json if row["id"] == later.id]
    assert row["start_date"] == f"{later.start:%Y-%m-%dT%H:%M:%SZ}"
    assert timedelta(days=2, hours=2) < timedelta(seconds=row["how_long"]) <= timedelta(days=2, hours=3)
    names = shell.ok("lease", "list", "-f", "value", "-c", "name", "--sort-by", "name").out.split()
    assert names == ["later", "sooner"]
    whose = shell.ok("lease", "list", "--long", "-f", "json").json
    assert [(row["project_id"], row["user_id"]) for row in whose] == [("demo", "admin")] * 2


def test_a_lease_is_shown_by_name_and_by_id(shell: Shell, client: Client) -> None:
    lease = booked(client, "mine", timedelta(days=1))
    for word in ("mine", lease.id):
        shown = shell.ok("lease", "show", word, "-f", "json").json
        assert (shown["id"], shown["what"], shown["type"]) == (lease.id, "1 host", "scheduled")
        assert shown["reservations"][0]["id"] == lease.reservations[0].id
        assert shown["created_at"].endswith("Z")
    told = shell.ok("lease", "show", "mine").out
    assert "(in 23 h" in told
    (made,) = [line for line in told.splitlines() if line.startswith("| created_at")]
    assert "+0545 (" in made


def test_a_name_that_is_not_one_lease_is_said_so(shell: Shell, client: Client) -> None:
    said = shell("lease", "show", "none-such")
    assert (said.status, said.out) == (1, "")
    assert said.err == "There is no lease with the name or id 'none-such' among those that you may see.\n"
    ids = {booked(client, "twice", timedelta(days=day)).id for day in (1, 2)}
    said = shell("lease", "show", "twice")
    assert said.status == 1
    assert said.err.startswith("2 leases are named 'twice'. Name one by its id: ")
    assert all(ident in said.err for ident in ids)


def test_what_the_output_cannot_encode_is_written_out(shell: Shell, client: Client) -> None:
    booked(client, "Zürich", timedelta(days=1))
    ascii_only = shell.with_environ(PYTHONIOENCODING="ascii")
    for words in (("list",), ("show", "Zürich"), ("list", "-f", "value"), ("list", "-f", "csv")):
        assert r"Z\xfcrich" in ascii_only.ok("lease", *words).out


def test_the_history_has_no_line_that_says_nothing(inside: Inside, client: Client) -> None:
    lease = booked(client, "kept", timedelta(days=1))
    # The manager prepares the cloud for it, and notes for itself what it has made there.
    wait_for(lambda: any(not (each.type or each.differences) for each in client.leases.history(lease.id).changes))
    (line,) = inside.ok("lease", "history", "kept").out.splitlines()
    assert "lease.create" in line


def test_every_format_has_the_same_values(inside: Inside, client: Client) -> None:
    lease = booked(client, "mine", timedelta(days=1))
    for words in (("lease", "list"), ("lease", "show", "mine")):
        in_json = inside.ok(*words, "-f", "json").json
        # How long still passes between two commands.
        told = {**(in_json[0] if isinstance(in_json, list) else in_json), "how_long": None}
        in_yaml = yaml.safe_load(inside.ok(*words, "-f", "yaml").out)
        assert {**(in_yaml[0] if isinstance(in_yaml, list) else in_yaml), "how_long": None} == told
        (row,) = csv.DictReader(inside.ok(*words, "-f", "csv").out.splitlines(), escapechar="\\")
        assert row.keys() == told.keys()
        assert (row["id"], row["start_date"], row["what"]) == (lease.id, told["start_date"], "1 host")
        assert inside.ok(*words, "-f", "value", "-c", "id", "-c", "start_date").out.split() == [
            lease.id,
            told["start_date"],
        ]
    shown = next(csv.DictReader(inside.ok("lease", "show", "mine", "-f", "csv").out.splitlines(), escapechar="\\"))
    assert json.loads(shown["reservations"])[0]["id"] == lease.reservations[0].id


@pytest.mark.parametrize(
    "words",
    [
        "lease create * --hosts 1 --for 1h",
        "offer create * --hosts 1 --for 1h",
        "flexible create * --hosts 1 --for 1h --latest tomorrow",
        "series create * --hosts 1 --for 1h --rule FREQ=DAILY;COUNT=2",
        "template create * --hosts 1",
        "maintenance create * cmp-01 --for 1h",
        "alarm create * --hosts 1",
        "feed create *",
        "published offer create * physical:host cmp-01 --for 1h",
        "lease sublease offer mine * --hosts 1",
        "lease sublease create mine * --project other --hosts 1",
        "lease set mine --name *",
        "series set mine --name *",
        "template set mine --name *",
        "published offer claim mine --name *",
    ],
)
def test_what_is_made_has_a_name(inside: Inside, words: str) -> None:
    with pytest.raises(SystemExit):
        inside(*(" " if word == "*" else word for word in words.split()))
    assert "a name is empty; give it one" in inside.capsys.readouterr().err


@pytest.mark.parametrize(
    "words", ["lease list --name *", "host list --pool *", "lease list --marker *", "lease events --type *"]
)
def test_an_empty_word_does_not_ask_for_everything(inside: Inside, words: str) -> None:
    with pytest.raises(SystemExit):
        inside(*("" if word == "*" else word for word in words.split()))
    assert f"argument {words.split()[2]}: it is empty; give it a value" in inside.capsys.readouterr().err
