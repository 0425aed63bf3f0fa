"""Profiles the service: `python -m bench.profile post|amend|delete|refuse|list|start` prints where the time goes.

`start` prints the slowest imports. The others print the budget of a request by stage (`bench/stages.py`), then the
slowest functions; a second argument names the kind of database. The request does not pass through a socket, so the
server's reading and writing is not in it. Profiling slows down Python's own code most, so compare by share and do not
trust the milliseconds.
"""

from __future__ import annotations

import cProfile
import pstats
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bench.client import ISO, AnswerError
from bench.deployment import host_lease
from bench.fill import BUSY, CELL, Placed, filled_as, first_day
from bench.inside import inside
from bench.stages import CLIENT, DATABASE, STAGES, seconds_by_stage
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from bench.inside import Inside

Request: TypeAlias = Callable[[int], Any]

HOSTS: Final = 200
LEASES: Final = 1_000
DEMO: Final = "demo"
OTHERS: Final = "others"
"""Whose leases are there: what the caller's own project has would be counted for its limits."""
SHOWN: Final = 45
HOUR: Final = timedelta(hours=1)


def post(api: Inside, _times: int) -> Request:
    """Create a lease in hours in which the filled hosts are free."""
    return lambda number: _create(api, number)


def amend(api: Inside, times: int) -> Request:
    """Extend a lease that has not begun."""
    leases = [_create(api, number) for number in range(times)]

    def extend(number: int) -> None:
        _ask(api, 200, "PUT", f"/leases/{leases[number]}", {"end_date": _free(number, hours=2).strftime(ISO)})

    return extend


def delete(api: Inside, times: int) -> Request:
    """Delete a lease that has not begun."""
    leases = [_create(api, number) for number in range(times)]
    return lambda number: _ask(api, 204, "DELETE", f"/leases/{leases[number]}")


def refuse(api: Inside, _times: int) -> Request:
    """Ask for a host while all of them are leased; the answer names the nearest window in which one is free."""
    return lambda number: _ask(api, 409, "POST", "/leases", _lease(first_day() + number * timedelta(minutes=1)))


def list_leases(api: Inside, _times: int) -> Request:
    """List all leases."""
    return lambda _: _ask(api, 200, "GET", "/leases")


def _free(day: int, *, hours: int = 0) -> datetime:
    return first_day() + timedelta(days=day) + BUSY + hours * HOUR


def _lease(start: datetime) -> dict[str, Any]:
    return host_lease("p", start.strftime(ISO), (start + HOUR).strftime(ISO))


def _create(api: Inside, number: int) -> str:
    return str(_ask(api, 201, "POST", "/leases", _lease(_free(number)))["lease"]["id"])


def _ask(api: Inside, status: int, method: str, path: str, body: Any = None) -> Any:
    answer = api.ask(method, path, body)
    if answer.status_code != status:
        raise AnswerError(f"{method} {path}: {answer.status_code}: {answer.text}")
    return answer.json if answer.content else None


ACTIONS: Final[dict[str, tuple[Callable[[Inside, int], Request], int]]] = {
    "post": (post, 200),
    "amend": (amend, 200),
    "delete": (delete, 200),
    "refuse": (refuse, 200),
    "list": (list_leases, 10),
}
"""What prepares requests, which are then sent by number, and how many of them are profiled."""


def _fill(url: str, project: str) -> None:
    """Enrol the hosts, all of which are leased for most of the first days; only one's own leases are listed."""
    days = (divmod(number, HOSTS) for number in range(LEASES))
    begins = ((first_day() + day * CELL, place) for day, place in days)
    filled_as(url, HOSTS, [Placed(n, begin, begin + BUSY, place, project) for n, (begin, place) in enumerate(begins)])


def profile(name: str, kind: str) -> None:
    """Print the stages, then the slowest functions, first with and then without the functions that they call."""
    prepare, times = ACTIONS[name]
    with new_database(kind) as url:
        _fill(url, DEMO if name == "list" else OTHERS)
        with inside(url) as api:
            request = prepare(api, times + 1)
            request(times)
            with cProfile.Profile() as profiler:
                for number in range(times):
                    request(number)
    print("\n".join(budget(seconds_by_stage(profiler), times)))
    for order in ("cumulative", "tottime"):
        pstats.Stats(profiler).sort_stats(order).print_stats(SHOWN)


def budget(seconds: Mapping[str, float], times: int) -> Iterator[str]:
    """Yield a line for each stage: milliseconds of one request, and the share of all but waits and the benchmark."""
    own = sum(each for stage, each in seconds.items() if stage not in (CLIENT, DATABASE))
    for stage in STAGES:
        spent = seconds.get(stage, 0.0)
        share = "" if stage == DATABASE else f"{spent / own:8.1%}"
        yield f"{stage:<25}{1000 * spent / times:8.3f} ms{share}"


def profile_start() -> None:
    """Print the slowest imports of `leasehold-standalone`, including what they import themselves."""
    command = [sys.executable, "-X", "importtime", "-c", "import leasehold.cmd.standalone"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()[1:]
    imports = [[word.strip() for word in line.removeprefix("import time:").split("|")] for line in lines]
    imports = [words for words in imports if words[0].isdigit()]
    print(f"{sum(int(words[0]) for words in imports) / 1000:.0f} ms in {len(imports)} modules")
    for own, with_all, name in sorted(imports, key=lambda words: -int(words[1]))[:SHOWN]:
        print(f"{int(with_all) / 1000:8.1f} ms with what it imports  {int(own) / 1000:8.1f} ms itself  {name}")


def main() -> None:
    """Profile what the first argument names; the second may be a kind of database."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name == "start":
        profile_start()
    elif name in ACTIONS:
        profile(name, sys.argv[2] if len(sys.argv) > 2 else "sqlite")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
