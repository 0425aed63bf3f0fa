"""Who gets other resources than those that the operators prefer is told so, when the lease is made and later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.processes import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from client.tests.conftest import Shell

pytestmark = pytest.mark.slow

TEXT = '["==", "$hypervisor_hostname", "cmp-02"]'


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a service whose operators prefer one host."""
    database = f"sqlite:///{tmp_path_factory.mktemp('preferring')}/leasehold.db"
    options = {"manager": {"default_properties_by_type": f'{{"physical:host": {TEXT}}}'}}
    with running("leasehold-standalone", database_url=database, options=options) as program:
        yield program.url


def test_a_lease_that_got_others_says_so(shell: Shell) -> None:
    dates = ("--from", "in 1 d", "--for", "1h")
    first = shell.ok("lease", "create", "first", "--hosts", "1", *dates)
    assert (first.err, "default properties" in shell.ok("lease", "show", "first").out) == ("", False)
    second = shell.ok("lease", "create", "second", "--hosts", "1", *dates)
    assert second.err == f"Not enough was free with the default properties {TEXT} for 1 host; others were taken.\n"
    assert f"not all with the default properties {TEXT}" in shell.ok("lease", "show", "second").out
    shown = shell.ok("lease", "show", "second", "-f", "json").json["reservations"][0]
    assert (shown["default_properties"], shown["default_properties_applied"]) == (TEXT, False)
    third = shell.ok("lease", "create", "third", "--hosts", "1", "--properties", "[]", *dates)
    assert third.err == ""
