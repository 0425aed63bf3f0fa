"""Keeps the libraries of the console in the tree: `python tools/vendor.py [write | compare]`, without a word: check.

`tools/vendor.json` names each package with version, integrity, licence and the files that are taken from it.

(nothing)  the files in the tree have the recorded hashes, and there are no others; needs no network
compare    the packages are fetched by npm, checked against their integrity, and give exactly these files
write      the same, and what differs is written, as are the hashes

A file is taken as it is, but for two changes. Bare imports become relative ones, because a map of imports would have to
be an inline script; and the reference to a source map is left out, because the map is not served.
"""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "tools" / "vendor.json"
LICENSES = "LICENSES"
SOURCE_MAP = re.compile(rb"\n?//# sourceMappingURL=\S+\s*$")
BARE_IMPORT = re.compile(r"""(?P<before>\bfrom\s*|\bimport\s*\(?\s*)(?P<quote>["'])(?P<name>[@a-z][^"':]*)(?P=quote)""")
CODE, TEXT = (".js", ".mjs"), (".js", ".mjs", ".ts", ".mts", ".css")


@dataclass(frozen=True)
class Package:
    """One package of the lock; `files` maps a file in the package to its path in the tree."""

    name: str
    version: str
    integrity: str
    licence: str
    licence_file: str
    folder: str
    files: Mapping[str, str]


def read_lock() -> dict[str, Any]:
    lock: dict[str, Any] = json.loads(LOCK.read_text(encoding="utf-8"))
    return lock


def packages_of(lock: Mapping[str, Any]) -> list[Package]:
    """Return the packages; each file of a package goes to `folder`, under its own name or the one that is given."""
    return [
        Package(
            name=entry["name"],
            version=entry["version"],
            integrity=entry["integrity"],
            licence=entry["licence"],
            licence_file=entry["licence_file"],
            folder=entry["folder"],
            files={
                name: posixpath.join(entry["folder"], entry.get("names", {}).get(name, posixpath.basename(name)))
                for name in entry["take"]
            },
        )
        for entry in lock["packages"]
    ]


def digest(content: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def fetch(package: Package, folder: Path) -> dict[str, bytes]:
    """Return the files of a package by their paths in it; raises SystemExit if it is not the one of the lock."""
    asked = subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", folder, f"{package.name}@{package.version}"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    archive = folder / asked.stdout.split()[-1]
    found = digest(archive.read_bytes())
    if found != package.integrity:
        raise SystemExit(f"{package.name} {package.version} has the integrity {found}, not the one of {LOCK.name}.")
    with tarfile.open(archive) as opened:
        members = [member for member in opened.getmembers() if member.isfile()]
        return {
            member.name.partition("/")[2]: content.read()
            for member in members
            if (content := opened.extractfile(member)) is not None
        }


def adapted(content: bytes, path: str, homes: Mapping[str, str]) -> bytes:
    """Return a file as it is in the tree; `homes` are the entry files of packages by their names."""
    if path.endswith(TEXT):
        content = SOURCE_MAP.sub(b"\n", content)
    if not path.endswith(CODE):
        return content

    def relative(found: re.Match[str]) -> str:
        if found["name"] not in homes:
            raise SystemExit(f"{path} imports {found['name']}, which {LOCK.name} does not take.")
        way = posixpath.relpath(homes[found["name"]], posixpath.dirname(path))
        return f"{found['before']}{found['quote']}{way if way.startswith('.') else './' + way}{found['quote']}"

    return BARE_IMPORT.sub(relative, content.decode()).encode()


def made(lock: Mapping[str, Any]) -> dict[str, bytes]:
    """Fetch all packages and return the files of the tree by path."""
    packages = packages_of(lock)
    homes = {entry["name"]: posixpath.join(entry["folder"], entry["entry"]) for entry in lock["packages"]}
    files: dict[str, bytes] = {}
    licences: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for package in packages:
            held = fetch(package, Path(folder))
            for name, path in package.files.items():
                files[path] = adapted(held[name], path, homes)
            text = held[package.licence_file].decode().strip()
            top = next(each for each in lock["folders"] if f"{package.folder}/".startswith(f"{each}/"))
            licences.setdefault(top, []).append(f"{package.name} {package.version} ({package.licence})\n\n{text}\n")
    line = "\n" + "-" * 72 + "\n\n"
    files |= {posixpath.join(top, LICENSES): line.join(texts).encode() for top, texts in licences.items()}
    return files


def present(lock: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files that are in the tree by path."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for folder in lock["folders"]
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file()
    }


def differences(wanted: Mapping[str, str], found: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a sentence for each file that is missing, not wanted, or another one; `wanted` are hashes by path."""
    for path in sorted({*wanted, *found}):
        if path not in found:
            yield f"{path} is missing."
        elif path not in wanted:
            yield f"{path} is not in {LOCK.name}."
        elif digest(found[path]) != wanted[path]:
            yield f"{path} is not the file of {LOCK.name}."


def main(arguments: list[str]) -> int:
    """Check, compare or write; returns 1 if there was a difference that was not written."""
    lock = read_lock()
    hashes: Mapping[str, str] = lock["files"]
    if not arguments:
        return _say(list(differences(hashes, present(lock))))
    files = made(lock)
    if arguments == ["compare"]:
        recorded = {path: digest(content) for path, content in files.items()}
        return _say([*differences(recorded, present(lock)), *([] if recorded == hashes else ["The hashes differ."])])
    if arguments != ["write"]:
        raise SystemExit(__doc__)
    for path in present(lock).keys() - files.keys():
        (ROOT / path).unlink()
    for path, content in files.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_bytes(content)
    lock["files"] = {path: digest(files[path]) for path in sorted(files)}
    LOCK.write_text(json.dumps(lock, indent=2) + "\n", encoding="utf-8")
    return 0


def _say(problems: list[str]) -> int:
    sys.stdout.writelines(f"vendor: {problem}\n" for problem in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
