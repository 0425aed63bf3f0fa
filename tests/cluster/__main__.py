"""`python -m tests.cluster galera|standby`: storms on a database cluster whose servers fail and recover.

Each round is a separate storm on an empty database; rounds repeat until the time is over.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from typing import TYPE_CHECKING

from tests.cluster import scenes
from tests.cluster.scenes import Seen
from tests.race.storm import SEED
from tests.servers.galera import GaleraCluster
from tests.servers.standby import PrimaryAndStandby

if TYPE_CHECKING:
    from tests.race.report import StormReport


def main() -> None:
    """Run the rounds and print their tables; exit with a traceback when something is wrong."""
    parser = ArgumentParser("python -m tests.cluster", description=__doc__)
    parser.add_argument("kind", choices=tuple(KINDS))
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    until, rounds = time.monotonic() + args.seconds, 0
    while not rounds or time.monotonic() < until:
        KINDS[args.kind](max(5.0, min(20.0, args.seconds / 3)), args.seed + rounds)
        rounds += 1
    say(f"{rounds} rounds on {args.kind}: nothing promised twice, nothing accepted lost, every audit empty")


def galera(seconds: float, seed: int) -> None:
    """Run a storm on a healthy cluster, on one that loses a node, and on one with an isolated node."""
    with GaleraCluster() as cluster:
        for what, scene in (
            ("all nodes", None),
            ("a node killed", scenes.kill_a_node),
            ("cut off", scenes.cut_a_node_off),
        ):
            seen, urls = Seen(), scenes.galera_urls(cluster)
            meanwhile = scene and scene(cluster, seen)
            report = scenes.galera_storm(urls, seconds=seconds, seed=seed, meanwhile=meanwhile)
            show(f"Galera, {what}", report, seen)
            scenes.check_galera(report, seen, urls, outage=scene is not None)
            cluster.mend()


def standby(seconds: float, seed: int) -> None:
    """Run a storm while the standby takes over from a killed primary."""
    with PrimaryAndStandby() as pair:
        seen, url = Seen(), scenes.standby_url(pair)
        report = scenes.standby_storm(url, seconds=seconds, seed=seed, meanwhile=scenes.fail_over(pair, seen))
        show("PostgreSQL, standby promoted", report, seen)
        scenes.check_standby(report, seen, url)


def show(what: str, report: StormReport, seen: Seen) -> None:
    """Print the requests and answers, and the answers of the affected API."""
    say(f"{what}, seed {report.seed}\n{report.table()}")
    for name, status, later in seen.answers:
        say(f"  {name}: {status}{f', Retry-After {later}' if later else ''}, after {seen.took[name]} s")
    for name in seen.took.keys() - {name for name, _, _ in seen.answers}:
        say(f"  {name}: {seen.took[name]} s")


def say(text: str) -> None:
    """Print and flush at once, so that the output can be followed."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


KINDS = {"galera": galera, "standby": standby}

if __name__ == "__main__":
    main()
