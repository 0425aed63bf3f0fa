"""`python -m tests.soak`: all kinds of work and faults for ten minutes, then a check of the database and the cloud."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from tests.race.storm import SEED
from tests.servers import KINDS
from tests.soak.soak import place, soak


def main() -> None:
    """Run a soak and print what happened and the verdict; exit with 1 when something is wrong."""
    parser = ArgumentParser("python -m tests.soak", description=__doc__)
    parser.add_argument("--database", choices=KINDS, default="mariadb")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    with place(args.database) as (url, server):
        report = soak(url, server, seconds=args.seconds, seed=args.seed)
        sys.stdout.write(f"{args.database}, seed {args.seed}\n{report.table()}\n")
        sys.stdout.flush()
        report.check(url)
    sys.stdout.write("audit: nothing found; every answer agrees with the database and the cloud\n")


if __name__ == "__main__":
    main()
