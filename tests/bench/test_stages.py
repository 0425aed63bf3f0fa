"""The time of a profile goes to the stages of the functions, and of those that call what belongs to none."""

from __future__ import annotations

import cProfile
import inspect
import itertools
import json
import pstats
from typing import TYPE_CHECKING

import pytest
import sqlalchemy.engine.base
from falcon.testing import client
from pymysql import connections

from bench.profile import ACTIONS, budget
from bench.stages import ANSWER, BODY, CLIENT, DATABASE, DECISION, DRIVER, HTTP, SQL, STAGES, seconds_by_stage, stage_of
from leasehold.api import app, body
from leasehold.api.views import lease
from leasehold.calendar import search
from leasehold.db import store

if TYPE_CHECKING:
    from types import ModuleType

BUILT_IN = {
    "<method 'recv_into' of '_socket.socket' objects>": DATABASE,
    "<method 'execute' of 'sqlite3.Cursor' objects>": DRIVER,
    "<built-in method builtins.len>": None,
}
MODULES = {
    app: HTTP,
    body: BODY,
    search: DECISION,
    store: SQL,
    sqlalchemy.engine.base: SQL,
    connections: DRIVER,
    lease: ANSWER,
    client: CLIENT,
    json: None,
}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_function_is_of_the_stage_of_its_module(module: ModuleType) -> None:
    assert stage_of((inspect.getfile(module), 1, "some")) == MODULES[module]


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_is_written_in_c_is_known_by_its_name(name: str) -> None:
    assert stage_of(("~", 0, name)) == BUILT_IN[name]


def test_what_belongs_to_no_stage_is_of_its_callers() -> None:
    class Sent:
        content_type = "application/json"
        content_length = 0

        @property
        def bounded_stream(self) -> Sent:
            return self

        def read(self, _most: int) -> bytes:
            return json.dumps({"long": list(range(20_000))}).encode()

    # Each look at this clock is a second later, so the shares are the same on any machine.
    with cProfile.Profile(itertools.count().__next__, 1.0) as profile:
        body.read(Sent(), 1_000_000)  # type: ignore[arg-type]  # as much of a request as is read
    found = seconds_by_stage(profile)
    whole = sum(own for _, _, own, _, _ in pstats.Stats(profile).stats.values())  # type: ignore[attr-defined]
    assert sum(found.values()) == pytest.approx(whole)
    assert found[BODY] > 0.9 * whole


def test_the_waits_are_no_share() -> None:
    said = list(budget({HTTP: 1.0, SQL: 3.0, DATABASE: 12.0, CLIENT: 5.0}, 1000))
    assert len(said) == len(STAGES)
    assert [line.split()[-3:] for line in said if line.startswith((HTTP, SQL))] == [
        ["1.000", "ms", "25.0%"],
        ["3.000", "ms", "75.0%"],
    ]
    assert said[-1].split()[-2:] == ["12.000", "ms"]


def test_each_verb_has_a_profile() -> None:
    assert {"post", "amend", "delete", "refuse", "list"} == set(ACTIONS)
