"""`python -m tests.harness WHAT`: longer runs of what the suite runs shortly, with the same code and a table.

storm           many clients on one database; the answers are compared with the database and the cloud
soak            the same while hosts, cloud, processes and database fail
kills           every program killed at every step of every scene, or of the named ones
outlive         a manager paused in and after every step of a start until it lost its claim
outage          the database server killed while clients send requests
galera          storms on a cluster whose nodes fail; each round on an empty database, until the time is over
standby         the same on a primary and its standby
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster import scenes
from tests.harness import kills
from tests.harness.outage import outage
from tests.harness.soak import place, soak
from tests.harness.stage import new_stage
from tests.harness.storm import CLIENTS, SEED, storm
from tests.servers import KINDS, SERVERS, new_database, server_of_kind
from tests.servers.galera import GaleraCluster
from tests.servers.standby import PrimaryAndStandby

if TYPE_CHECKING:
    from argparse import Namespace

    from tests.cluster.scenes import Seen
    from tests.harness.report import Report


def main() -> int:
    """Run what the arguments select; return 1, or end with a traceback, when anything is wrong."""
    parser = ArgumentParser("python -m tests.harness", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=tuple(RUNS))
    parser.add_argument("scene", nargs="*", help=f"for kills: of {', '.join(scene.name for scene in kills.SCENES)}")
    parser.add_argument("--database", choices=KINDS, help="sqlite for kills, else mariadb")
    parser.add_argument("--seconds", type=float, default=600.0, help="of a soak, an outage, or all storms on a cluster")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--apis", type=int, default=4)
    parser.add_argument("--managers", type=int, default=2)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--most", type=int, help="a sample of so many kills instead of every step")
    parser.add_argument("--all", action="store_true", help="recover from each kill in both ways")
    parser.add_argument("--lanes", type=int, default=kills.LANES, help="databases in which to kill at the same time")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="where to keep what there was when a kill is not right"
    )
    args = parser.parse_args()
    args.database = args.database or ("sqlite" if args.what in ("kills", "outlive") else "mariadb")
    if unknown := set(args.scene) - {scene.name for scene in kills.SCENES}:
        parser.error(f"There is no scene {', '.join(sorted(unknown))}.")
    if args.what == "outage" and args.database not in SERVERS:
        parser.error(f"An outage needs a database that is a server: --database {' or '.join(SERVERS)}.")
    return RUNS[args.what](args) or 0


def run_storm(args: Namespace) -> None:
    with new_database(args.database) as url:
        report = storm(
            [url],
            apis=args.apis,
            managers=args.managers,
            clients=args.clients,
            requests_wanted=args.requests,
            seed=args.seed,
        )
        say(f"{args.database}, seed {args.seed}\n{report.table()}")
        report.check(url)
    say("audit: nothing found; every answer agrees with the database and the cloud")


def run_soak(args: Namespace) -> None:
    with place(args.database) as (url, server):
        report = soak(url, server, seconds=args.seconds, seed=args.seed)
        say(f"{args.database}, seed {args.seed}\n{report.table()}")
        report.check(url, outage=True)
    say("audit: nothing found; every answer agrees with the database and the cloud")


def run_kills(args: Namespace) -> int:
    """Carry out every kill, or every pause of a manager."""
    outlive = args.what == "outlive"
    wanted = args.scene or (["start now"] if outlive else [scene.name for scene in kills.SCENES])
    scenes = [scene for scene in kills.SCENES if scene.name in wanted]
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="leasehold-fault-"))
        numbers = itertools.count()
        server = stack.enter_context(server_of_kind(args.database)) if args.database in SERVERS else None
        create = server.create_database if server else lambda: f"sqlite:///{folder}/{next(numbers)}.db"
        stages = stack.enter_context(kills.stages(create, args.lanes, args.keep))
        rehearsed = kills.rehearsals(stages, scenes)
        planned = (
            kills.every_standstill(rehearsed) if outlive else kills.every_kill(rehearsed, args.seed, both=args.all)
        )
        planned = kills.sample(planned, args.seed, args.most)
        steps = sum(len(each.steps) for each in rehearsed)
        say(f"{steps} steps in {len(rehearsed)} scenes, {len(planned)} kills on {args.database}, seed {args.seed}")
        verdicts = kills.carry_out(stages, planned, say)
    right = [verdict.seconds for verdict in verdicts if not verdict.trouble]
    say(f"{len(right)} of {len(verdicts)} right, the slowest of these after {max(right, default=0.0):.1f} s")
    return int(len(right) < len(verdicts))


def run_outage(args: Namespace) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="leasehold-fault-") as folder,
        server_of_kind(args.database) as server,
        new_stage(server.create_database(), Path(folder)) as stage,
    ):
        verdict = outage(server, stage, args.seconds)
    answers = dict(verdict.answers)
    say(f"{args.database} killed and back at once, then gone for {args.seconds:g} s; requests by answer: {answers}")
    say(f"the longest answer took {verdict.longest:.1f} s; all was right {verdict.right_after:.1f} s after the last")
    say("\n".join(verdict.trouble))
    return int(bool(verdict.trouble))


def run_cluster(args: Namespace) -> None:
    """Repeat storms until the time is over."""
    until, rounds = time.monotonic() + args.seconds, 0
    while not rounds or time.monotonic() < until:
        CLUSTERS[args.what](max(5.0, min(20.0, args.seconds / 3)), args.seed + rounds)
        rounds += 1
    say(f"{rounds} rounds on {args.what}: nothing promised twice, nothing accepted lost, every audit empty")


def galera(seconds: float, seed: int) -> None:
    """Run a storm on a healthy cluster, on one that loses a node, and on one with an isolated node."""
    with GaleraCluster() as cluster:
        for what, scene in (
            ("all nodes", None),
            ("a node killed", scenes.kill_a_node),
            ("cut off", scenes.cut_a_node_off),
        ):
            seen, urls = scenes.Seen(), scenes.galera_urls(cluster)
            meanwhile = scene and scene(cluster, seen)
            report = scenes.galera_storm(urls, seconds=seconds, seed=seed, meanwhile=meanwhile)
            show(f"Galera, {what}", report, seen)
            scenes.check_galera(report, seen, urls, outage=scene is not None)
            cluster.mend()


def standby(seconds: float, seed: int) -> None:
    """Run a storm while the standby takes over from a killed primary."""
    with PrimaryAndStandby() as pair:
        seen, url = scenes.Seen(), scenes.standby_url(pair)
        report = scenes.standby_storm(url, seconds=seconds, seed=seed, meanwhile=scenes.fail_over(pair, seen))
        show("PostgreSQL, standby promoted", report, seen)
        scenes.check_standby(report, seen, url)


def show(what: str, report: Report, seen: Seen) -> None:
    """Print the requests and answers, and the answers of the affected API."""
    say(f"{what}, seed {report.seed}\n{report.table()}")
    for name, status, later in seen.answers:
        say(f"  {name}: {status}{f', Retry-After {later}' if later else ''}, after {seen.took[name]} s")
    for name in seen.took.keys() - {name for name, _, _ in seen.answers}:
        say(f"  {name}: {seen.took[name]} s")


def say(text: object) -> None:
    """Print and flush at once, so that the output can be followed."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


CLUSTERS = {"galera": galera, "standby": standby}
RUNS = {
    "storm": run_storm,
    "soak": run_soak,
    "kills": run_kills,
    "outlive": run_kills,
    "outage": run_outage,
    "galera": run_cluster,
    "standby": run_cluster,
}

if __name__ == "__main__":
    sys.exit(main())
