"""Checks the console: vendored libraries, types of the API, what is loaded at once, its modules.

`make lint` runs it. Without Node.js, where it could not be installed, only the first three are checked, and a line says
so; under CI=true that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONSOLE = ROOT / "console"
TSC = ROOT / ".venv" / "node" / "node_modules" / ".bin" / "tsc"


def run(*command: str | Path) -> tuple[int, str]:
    """Run a command in the root; returns its exit status and what it has written."""
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def main() -> int:
    """Run all checks at the same time; returns 1 if one has found anything."""
    commands: list[tuple[str | Path, ...]] = [
        (sys.executable, "tools/vendor.py"),
        (sys.executable, "tools/console_types.py", "--check"),
        (sys.executable, "tools/preload.py", "--check"),
    ]
    node = shutil.which("node")
    if node is not None and TSC.exists():
        commands += [(TSC, "-p", "console"), (node, "--test", *sorted((CONSOLE / "tests").glob("*.test.mjs")))]
    elif os.environ.get("CI") == "true":
        print("The console is checked under CI, and that needs Node.js: tools/bootstrap check.")
        return 1
    else:
        print("There is no Node.js, so the modules of the console are not checked: tools/bootstrap check installs it.")
    with ThreadPoolExecutor(len(commands)) as threads:
        results = list(threads.map(lambda command: run(*command), commands))
    for status, output in results:
        if status:
            print(output.rstrip())
    return 1 if any(status for status, _ in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
