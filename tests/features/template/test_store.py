"""Lease templates on each database: their rows, whose they are, and that names are unique."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from leasehold.features.template.model import Template, TemplateDraft
from leasehold.features.template.options import TemplateSettings
from leasehold.features.template.store import TEMPLATES as ROWS
from leasehold.features.template.store import named_templates, save_template
from leasehold.features.template.use import TEMPLATES, amend_template, make_template
from leasehold.model.errors import ConflictError, LeaseholdError
from tests.db.examples import NOW, at_once, ident
from tests.factory import DEMO, Clock, open_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

    from leasehold.db.store import Database
    from tests.factory import World

REQUEST = {"duration_seconds": 2**40, "reservations": [{"resource_type": "physical:host", "größe": "€"}]}


def template(project_id: str = "demo", name: str = "course", *, public: bool = False) -> Template:
    return Template(
        name,
        "Größe €",
        public=public,
        request=REQUEST,
        id=ident(),
        project_id=project_id,
        user_id="alice",
        created_at=NOW,
    )


def test_a_template_is_read_as_it_was_written(db: Database) -> None:
    first, other = template(), replace(template("other"), created_at=NOW + timedelta(hours=1))
    public = replace(template("staff", public=True), created_at=NOW + timedelta(hours=2))
    for each in (public, other, first):
        db.transact(partial(ROWS.add, new=each))
    with db.reading() as connection:
        assert ROWS.find(connection, first.id) == first
        assert ROWS.find(connection, public.id) == public
        assert ROWS.find(connection, ident()) is None
        assert ROWS.page(connection, "demo") == [first, public]
        assert ROWS.page(connection, "staff") == [public]
        assert ROWS.page(connection, None) == [first, other, public]
        assert named_templates(connection, "demo", "course") == [first, public]
        assert named_templates(connection, "third", "course") == [public]
        assert named_templates(connection, "demo", "course ") == []
        assert [ROWS.count(connection, ROWS.owner_of(each)) for each in (first, public)] == [1, 1]
    assert db.transact(partial(ROWS.remove, ident=first.id))
    assert not db.transact(partial(ROWS.remove, ident=first.id))


def test_a_template_is_saved_once(db: Database) -> None:
    before = template()
    db.transact(partial(ROWS.add, new=before))
    after = replace(before, name="lab", request={}, public=True, updated_at=NOW, generation=1)
    assert db.transact(partial(save_template, before=before, after=after))
    assert not db.transact(partial(save_template, before=before, after=after))
    with db.reading() as connection:
        assert ROWS.find(connection, before.id) == after


def test_a_name_is_there_once_in_a_project_and_once_for_all(db: Database) -> None:
    mine, public = template(), template(public=True)
    for each in (mine, public, template("other"), template(name="Course"), template(name="course ")):
        db.transact(partial(ROWS.add, new=each))
    for each in (template(), template("other", public=True)):
        with pytest.raises(IntegrityError):
            db.transact(partial(ROWS.add, new=each))
    with pytest.raises(IntegrityError):
        db.transact(partial(save_template, before=mine, after=replace(mine, public=True)))


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
    assert len(TEMPLATES.page(world.service, "demo")) == 1


@pytest.mark.slow
def test_nobody_makes_more_than_a_project_may_have(engine: Engine, world: World) -> None:
    few = world.service.settings.having(TemplateSettings(2))

    def work(own: Database, number: int) -> str:
        try:
            return make_template(replace(world.service, db=own, settings=few), DEMO, draft(str(number))).name
        except LeaseholdError as error:
            return error.code

    answers = at_once(engine, 4, work)
    assert answers.count("leasehold.templates.too_many") == 2
    assert len(TEMPLATES.page(world.service, "demo")) == 2


def test_who_has_not_seen_the_last_change_changes_nothing(world: World) -> None:
    before = make_template(world.service, DEMO, draft("course"))
    after = amend_template(world.service, DEMO, before, draft("lab"))
    with pytest.raises(ConflictError, match="read it again"):
        amend_template(world.service, DEMO, before, draft("late"))
    assert TEMPLATES.page(world.service, "demo") == [after]
