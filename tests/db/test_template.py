"""Lease templates on each database: their rows, whose they are, and that names are unique."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from leasehold.db import template as rows
from leasehold.leasing.template import amend_template, list_templates, make_template
from leasehold.model.errors import ConflictError, LeaseholdError
from leasehold.model.template import Template, TemplateDraft
from tests.db.examples import NOW, at_once, ident
from tests.factory import DEMO, Clock, open_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from leasehold.db.store import Database
    from tests.factory import World

REQUEST = {"duration_seconds": 2**40, "reservations": [{"resource_type": "physical:host", "größe": "€"}]}


def template(project_id: str = "demo", name: str = "course", *, public: bool = False) -> Template:
    return Template(ident(), project_id, "alice", name, "Größe €", public=public, request=REQUEST, created_at=NOW)


def test_a_template_is_read_as_it_was_written(db: Database) -> None:
    first, other = template(), replace(template("other"), created_at=NOW + timedelta(hours=1))
    public = replace(template("staff", public=True), created_at=NOW + timedelta(hours=2))
    for each in (public, other, first):
        db.transact(partial(rows.add_template, new=each))
    with db.reading() as connection:
        assert rows.find_template(connection, first.id) == first
        assert rows.find_template(connection, public.id) == public
        assert rows.find_template(connection, ident()) is None
        assert rows.list_templates(connection, "demo") == [first, public]
        assert rows.list_templates(connection, "staff") == [public]
        assert rows.list_templates(connection, None) == [first, other, public]
        assert rows.named_templates(connection, "demo", "course") == [first, public]
        assert rows.named_templates(connection, "third", "course") == [public]
        assert rows.named_templates(connection, "demo", "course ") == []
        assert [rows.count_templates(connection, each) for each in (first, public)] == [1, 1]
    assert db.transact(partial(rows.delete_template, ident=first.id))
    assert not db.transact(partial(rows.delete_template, ident=first.id))


def test_a_template_is_saved_once(db: Database) -> None:
    before = template()
    db.transact(partial(rows.add_template, new=before))
    after = replace(before, name="lab", request={}, public=True, updated_at=NOW, generation=1)
    assert db.transact(partial(rows.save_template, before=before, after=after))
    assert not db.transact(partial(rows.save_template, before=before, after=after))
    with db.reading() as connection:
        assert rows.find_template(connection, before.id) == after


def test_a_name_is_there_once_in_a_project_and_once_for_all(db: Database) -> None:
    mine, public = template(), template(public=True)
    for each in (mine, public, template("other"), template(name="Course"), template(name="course ")):
        db.transact(partial(rows.add_template, new=each))
    for each in (template(), template("other", public=True)):
        with pytest.raises(IntegrityError):
            db.transact(partial(rows.add_template, new=each))
    with pytest.raises(IntegrityError):
        db.transact(partial(rows.save_template, before=mine, after=replace(mine, public=True)))


@pytest.fixture
def world(engine: Engine) -> Iterator[World]:
    world = open_service(engine.url.render_as_string(hide_password=False), clock=Clock())
    yield world
    world.engine.dispose()


def draft(name: str, *, public: bool = False) -> TemplateDraft:
    return TemplateDraft(name, "", public=public, request={"duration_seconds": 60})


@pytest.mark.slow
@pytest.mark.parametrize("public", [False, True])
def test_of_equal_names_at_the_same_moment_one_is_kept(engine: Engine, world: World, public: bool) -> None:  # noqa: FBT001 - pytest passes it
    def work(own: Database, _: int) -> str:
        try:
            return make_template(replace(world.service, db=own), DEMO, draft("course", public=public)).name
        except LeaseholdError as error:
            return error.code

    assert sorted(at_once(engine, 4, work)) == ["course", *["leasehold.templates.name"] * 3]
    assert len(list_templates(world.service, "demo")) == 1


@pytest.mark.slow
def test_nobody_makes_more_than_a_project_may_have(engine: Engine, world: World) -> None:
    few = replace(world.service.settings, manager=replace(world.service.settings.manager, templates=2))

    def work(own: Database, number: int) -> str:
        try:
            return make_template(replace(world.service, db=own, settings=few), DEMO, draft(str(number))).name
        except LeaseholdError as error:
            return error.code

    answers = at_once(engine, 4, work)
    assert answers.count("leasehold.templates.too_many") == 2
    assert len(list_templates(world.service, "demo")) == 2


def test_who_has_not_seen_the_last_change_changes_nothing(world: World) -> None:
    before = make_template(world.service, DEMO, draft("course"))
    after = amend_template(world.service, DEMO, before, draft("lab"))
    with pytest.raises(ConflictError, match="read it again"):
        amend_template(world.service, DEMO, before, draft("late"))
    assert list_templates(world.service, "demo") == [after]
