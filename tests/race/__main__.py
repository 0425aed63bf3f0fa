"""`python -m tests.race`: a storm of requests on one database, then a check of the database and the cloud."""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from tests.race.storm import CLIENTS, SEED, storm
from tests.servers import KINDS, new_database


def main() -> None:
    """Run a storm and print its table and the verdict; exit with 1 when something is wrong."""
    parser = ArgumentParser("python -m tests.race", description=__doc__)
    parser.add_argument("--database", choices=KINDS, default="mariadb")
    parser.add_argument("--apis", type=int, default=4)
    parser.add_argument("--managers", type=int, default=2)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    with new_database(args.database) as url:
        report = storm(
            [url],
            apis=args.apis,
            managers=args.managers,
            clients=args.clients,
            requests_wanted=args.requests,
            seed=args.seed,
        )
        sys.stdout.write(f"{args.database}, seed {args.seed}\n{report.table()}\n")
        sys.stdout.flush()
        report.check(url)
    sys.stdout.write("audit: nothing found; every answer agrees with the database and the cloud\n")


if __name__ == "__main__":
    main()
