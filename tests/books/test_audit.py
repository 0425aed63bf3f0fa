"""The audit reads what is promised on every database, in as many statements whatever there is."""

from __future__ import annotations

from sqlalchemy import event

from leasehold.books.engine import reader_of, reading
from leasehold.leasing.audit.books import audit_books
from tests.factory import World, hosts, instances, make_service

NAMES = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")


def statements(world: World) -> int:
    """Return how many statements an audit sends; it finds nothing."""
    sent: list[str] = []

    def note(*context: object) -> None:
        sent.append(str(context[2]))

    reader = reader_of(world.engine)
    event.listen(reader, "before_cursor_execute", note)
    with reading(world.engine) as connection:
        assert audit_books(connection, world.now()) == []
    event.remove(reader, "before_cursor_execute", note)
    return len([text for text in sent if not text.startswith("BEGIN")])


def test_promises_on_several_hosts_are_read_at_once(database_url: str) -> None:
    with make_service(database_url, hosts=NAMES) as world:
        world.lease(hosts(1), start=1, end=2)
        few = statements(world)
        world.lease(hosts(4), start=3, end=4)
        world.lease(instances(6), start=5, end=6)
        assert statements(world) == few
