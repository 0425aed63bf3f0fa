"""Audits the dependencies of this project: `make audit-dependencies`. Exits with 1 when a check finds a problem.

pins             every requirement is pinned to a version, with hashes
installed        the installed packages are the pinned ones, and agree with each other
declared         every imported package is declared, and every declared package is used
licences         every licence is one that this project may be distributed with
vulnerabilities  no pinned version has a known vulnerability

The last check asks a service, OSV. If OSV cannot be reached or has no data, a line says so, and the other checks
decide.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
FILES = ("runtime.txt", "client.txt", "bridge.txt", "dev.txt", "tools.txt")
OSV = "https://api.osv.dev/v1/query"
KNOWN = {"package": {"name": "jinja2", "ecosystem": "PyPI"}, "version": "2.4.1"}
"""A version with well-known vulnerabilities: a service that finds none in it has no data."""
ASK_WITHIN = 10

OURS = {"leasehold", "leasehold-client", "leasehold-console", "leasehold-nova"}
OF_THE_ENVIRONMENT = {"pip", "setuptools"}
"""Packages that every virtual environment has."""

LOADED_BY_NAME = ("leasehold-nova", "psycopg", "pymemcache", "python-memcached")
"""Declared, but not imported by our code: a library loads them by name, or Nova does."""
OF_THE_HOST = ("nova",)
"""Imported, but not declared: the scheduler filter runs inside Nova."""
LICENCES = {
    "0BSD",
    "Apache Software License",
    "Apache-2.0",
    "BSD",  # PySocks: the text is that of BSD-3-Clause.
    "BSD License",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "DFSG approved",
    "ISC",
    "LGPL-3.0-only",
    "LicenseRef-Repoze-BSD-derived",
    "MIT",
    "MIT License",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)",
    "OSI Approved",
    "PSF-2.0",
    "Public Domain",
    "Python Software Foundation License",
    "Zlib",
    "Zope Public License",
}
"""None has conditions for a program that uses the library unmodified. An `OR` needs one of these, an `AND` all."""

SAYS_MORE = {"docutils": "Public Domain AND BSD License"}
"""The licences of what is installed of a package that names more. The GPL of docutils is that of a mode for Emacs, and
not in its wheel."""


@dataclass(frozen=True)
class Pin:
    """One line of a requirements file."""

    requirement: Requirement
    hashes: int
    place: str

    @property
    def name(self) -> str:
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str | None:
        """The pinned version; None when the requirement allows several."""
        found = [each for each in self.requirement.specifier if each.operator == "=="]
        exact = len(found) == len(self.requirement.specifier) == 1 and "*" not in found[0].version
        return found[0].version if exact else None

    @property
    def wanted_here(self) -> bool:
        return self.requirement.marker is None or self.requirement.marker.evaluate()


def read_pins(folder: Path) -> Iterator[Pin]:
    """Yield the requirements in all files of a folder; joins continued lines."""
    for name in FILES:
        path = folder / name
        for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines() if path.exists() else ():
            text = line.partition("#")[0].strip()
            if text:
                words, *hashes = text.split("--hash=")
                try:
                    yield Pin(Requirement(words.strip()), len(hashes), f"{name}: {words.strip()}")
                except InvalidRequirement as error:
                    raise SystemExit(f"{name}: {text[:80]}: {error}") from None


# ---------------------------------------------------------------- checks without a service


def check_pins(folder: Path) -> list[str]:
    """Return the requirements that do not fix one version with hashes, so that an index could serve other code."""
    problems = []
    for pin in read_pins(folder):
        if pin.version is None or pin.requirement.url is not None:
            problems.append(f"{pin.place} is not pinned to one version: make pins.")
        elif not pin.hashes:
            problems.append(f"{pin.place} has no hash: make pins.")
    return problems


def check_installed(folder: Path) -> list[str]:
    """Return the differences between the installed packages and the pins."""
    pinned = {pin.name: pin.version for pin in read_pins(folder) if pin.wanted_here}
    found: dict[str, str] = {canonicalize_name(each.metadata["Name"]): each.version for each in distributions()}
    extra = sorted(set(found) - set(pinned) - OURS - OF_THE_ENVIRONMENT)
    problems = [f"{name} {found[name]} is installed and not pinned: make pins, or uninstall it." for name in extra]
    for name, version in sorted(pinned.items()):
        if found.get(name) != version:
            problems.append(f"{name} {version} is pinned, and {found.get(name, 'nothing')} installed: make clean.")
    agree = run(sys.executable, "-m", "pip", "check")
    return problems + ([] if agree.returncode == 0 else lines_of(agree))


def check_declared(_folder: Path) -> list[str]:
    """Return the packages that are imported but not declared, or declared but not used."""
    leave = {"DEP001": OF_THE_HOST, "DEP002": LOADED_BY_NAME}
    ignored = ",".join(f"{rule}={'|'.join(names)}" for rule, names in leave.items())
    service = run(BIN / "deptry", "src", "nova-filter/src", "--no-ansi", "--per-rule-ignores", ignored)
    client = run(BIN / "deptry", "client/src", "--no-ansi", "--config", "client/pyproject.toml")
    return [problem for done in (service, client) if done.returncode for problem in _undeclared(done)]


def _undeclared(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in lines_of(done) if ": DEP" in line] or lines_of(done)


def check_licences(_folder: Path) -> list[str]:
    """Return the installed packages whose licence is not in LICENCES."""
    problems = []
    for each in distributions():
        name = each.metadata["Name"]
        said = SAYS_MORE.get(canonicalize_name(name)) or licence(each)
        if canonicalize_name(name) not in OURS and not allowed(said):
            problems.append(f"{name} has the licence {said or 'unknown'!r}: check it, and add it to LICENCES.")
    return problems


def licence(of: Distribution) -> str:
    """Return a package's licence from License-Expression, else its classifiers, else the first line of License."""
    expressions, texts = (of.metadata.get_all(name) or [""] for name in ("License-Expression", "License"))
    marks = [each for each in of.metadata.get_all("Classifier") or [] if each.startswith("License ::")]
    classified = " AND ".join(each.rpartition("::")[2].strip() for each in marks)
    return str(expressions[0] or classified or texts[0].strip().partition("\n")[0])


def allowed(said: str) -> bool:
    """Return whether every part of a licence has an allowed alternative."""
    parts = [part.split(" OR ") for part in said.split(" AND ")]
    return all(any({each.strip(), each.strip(" ()")} & LICENCES for each in part) for part in parts)


# ---------------------------------------------------------------- the check that asks a service


def check_vulnerabilities(folder: Path, url: str) -> list[str]:
    """Return the pinned versions with known vulnerabilities; prints a line when the service cannot be used."""
    reason = why_not(url)
    if reason is None:
        done = audit(folder, url)
        if done is not None:
            return done
        reason = "pip-audit did not finish"
    print(f"NOT AUDITED: no package was looked up for vulnerabilities, because of {url}: {reason}. The rest decides.")
    return []


def why_not(url: str) -> str | None:
    """Return why a service cannot be used; None when it finds the vulnerabilities of KNOWN."""
    try:
        answer = requests.post(url, json=KNOWN, timeout=ASK_WITHIN)
        if not answer.ok:
            return f"it answers {answer.status_code}"
        known = answer.json().get("vulns")
    except (requests.RequestException, ValueError, AttributeError) as error:
        return f"it cannot be asked ({type(error).__name__})"
    return None if known else "it knows of no vulnerability in a version that has many"


def audit(folder: Path, url: str) -> list[str] | None:
    """Return what pip-audit finds in the files, None when it could not finish."""
    files = [word for name in FILES if (folder / name).exists() for word in ("-r", str(folder / name))]
    options = ("--disable-pip", "--require-hashes", "--progress-spinner", "off", "-f", "json", "-s", "osv")
    done = run(BIN / "pip-audit", *options, "--osv-url", url, *files)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        print("\n".join(lines_of(done)[-3:]))
        return None
    problems = set()
    for each in report["dependencies"]:
        for found in each.get("vulns", ()):
            mended = ", ".join(found["fix_versions"]) or "no version yet"
            problems.add(f"{each['name']} {each['version']} is vulnerable: {found['id']}, fixed in {mended}.")
    return sorted(problems)


# ---------------------------------------------------------------- entry point


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def lines_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named checks, print what they find, and return the exit code."""
    checks: dict[str, Callable[[Path], list[str]]] = {
        "pins": check_pins,
        "installed": check_installed,
        "declared": check_declared,
        "licences": check_licences,
        "vulnerabilities": lambda folder: check_vulnerabilities(folder, args.osv_url),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requirements", type=Path, default=ROOT / "requirements", help="folder of the pins")
    parser.add_argument("--osv-url", default=OSV, help="URL of the vulnerability service, default %(default)s")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"default: all of {', '.join(checks)}")
    args = parser.parse_args(arguments)
    unknown = set(args.checks) - set(checks)
    if unknown:
        parser.error(f"no such check: {', '.join(sorted(unknown))}")
    problems = [problem for name in args.checks or checks for problem in checks[name](args.requirements)]
    print("\n".join(problems) or f"Dependencies: {', '.join(args.checks or checks)}: nothing to do.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
