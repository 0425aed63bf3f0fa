"""Read a subunit stream and write its tests as JSON. Runs as a script in tempest's environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import subunit
import testtools


def main(stream: Path) -> None:
    tests: list[dict[str, Any]] = []
    result = testtools.StreamToDict(tests.append)
    result.startTestRun()
    with stream.open("rb") as file:
        subunit.ByteStreamToStreamResult(file, non_subunit_name="stdout").run(result)
    result.stopTestRun()
    # "exists" marks the list of tests to run, "stdout" what programs have printed in between.
    rows = [_as_row(test) for test in tests if test["status"] != "exists" and test["id"] != "stdout"]
    json.dump(rows, sys.stdout)


def _as_row(test: dict[str, Any]) -> dict[str, object]:
    began, ended = test["timestamps"]
    text = "\n".join(detail.as_text().strip() for detail in test["details"].values())
    return {
        "id": test["id"],
        "status": test["status"],
        "seconds": (ended - began).total_seconds() if began and ended else 0.0,
        "text": "" if test["status"] == "success" else text,
    }


main(Path(sys.argv[1]))
