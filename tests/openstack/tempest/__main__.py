"""python -m tests.openstack.tempest api | scenario | REGEX."""

from __future__ import annotations

import argparse
import sys

from tests.openstack.cloud import CloudError, find_home, running
from tests.openstack.tempest import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.openstack.tempest", description=__doc__)
    parser.add_argument("what", help="api, scenario, or a regular expression for the names of tests")
    arguments = parser.parse_args()
    cloud = running(find_home())
    if cloud is None:
        sys.stderr.write("The cloud does not run, or not all of it. `make cloud` starts it.\n")
        return 1
    try:
        results = run(cloud, arguments.what)
    except CloudError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{results.report()}\n")
    return 1 if results.failed or not results.passed else 0


sys.exit(main())
