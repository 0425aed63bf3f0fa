"""Secrets that are easy to recognise, and the search for them in everything that a program outputs."""

from __future__ import annotations

import base64
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import requests

from tests.processes import BIN, as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.processes import Program

MARK = "zQ9"
"""Part of every secret and of nothing else, and twice in each, so that half a secret is found as well."""


def secret(name: str) -> str:
    """Return a secret with characters that quoting and masking may handle wrongly."""
    return f"{MARK}-{name}-{MARK}+p"


DATABASE, ACCOUNT, CLOUD, MEMCACHED, RABBIT, PASSWORD, GUESS = map(
    secret, ("database", "account", "cloud", "memcached", "rabbit", "password", "guess")
)
TOKEN, BAD_TOKEN, SERVICE_TOKEN, BEARER = map(secret, ("token", "bad-token", "service-token", "bearer"))
ALL = (DATABASE, ACCOUNT, CLOUD, MEMCACHED, RABBIT, PASSWORD, GUESS, TOKEN, BAD_TOKEN, SERVICE_TOKEN, BEARER)


def disguises() -> Iterator[str]:
    """Yield the forms in which a secret may leak."""
    yield MARK
    for each in ALL:
        yield quote(each, safe="")
        for prefix in ("", "alice:"):
            # The last characters of base64 depend on the bytes that follow.
            yield base64.b64encode(f"{prefix}{each}".encode()).decode()[:-4]


@dataclass
class Watch:
    """All collected output, by its source."""

    seen: dict[str, str] = field(default_factory=dict)

    def add(self, place: str, text: object) -> None:
        self.seen[place] = self.seen.get(place, "") + str(text)

    def ask(self, program: Program, method: str, path: str, **more: Any) -> int:
        """Send a request, keep the whole answer, and return its status."""
        answer = requests.request(method, f"{program.root}{path}", timeout=60, **more)
        self.add(f"answer to {method} {path}", f"{answer.status_code} {answer.headers} {answer.text}\n")
        return int(answer.status_code)

    def process(self, program: Program) -> None:
        """Keep the command line of a program and what it has written so far: log, stdout and stderr."""
        name = Path(str(program.process.args[3])).name  # type: ignore[index]
        self.add(f"command line of {name}", Path(f"/proc/{program.process.pid}/cmdline").read_text(encoding="utf-8"))
        self.add(f"output of {name}", program.log.read_text(errors="replace"))

    def run(self, config: Path, program: str, *words: str) -> int:
        """Run a program to its end, keep what it prints, and return its exit code."""
        done = subprocess.run(
            [BIN / program, *words, "--config-file", config]
            if program == "leasehold-status"
            else [BIN / program, "--config-file", config, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={"PATH": f"{BIN}:/usr/bin:/bin"},
        )
        self.add(f"output of {program} {' '.join(words)}", done.stdout + done.stderr)
        return done.returncode

    def clean(self) -> None:
        """Check that there is output without any secret; a failure names the source and line of the first secret."""
        assert self.seen
        for place, text in self.seen.items():
            for form in disguises():
                assert form not in text, f"{place}: " + next(line for line in text.splitlines() if form in line)[:2000]


def options(database_url: str, keystone_url: str) -> dict[str, dict[str, object]]:
    """Return a configuration with a secret in every option that takes one, and with all logging enabled."""
    account = {"auth_type": "password", "auth_url": keystone_url, "project_name": "service"}
    domains = {"user_domain_name": "Default", "project_domain_name": "Default"}
    return {
        "DEFAULT": {"debug": True, "transport_url": f"rabbit://leasehold:{quote(RABBIT)}@127.0.0.1:1/"},
        "api": {"auth_strategy": "keystone", "metrics": True},
        "database": {"connection": database_url, "retry_seconds": 1},
        "keystone_authtoken": {
            **account,
            **domains,
            "username": "leasehold",
            "password": ACCOUNT,
            "memcache_security_strategy": "ENCRYPT",
            "memcache_secret_key": MEMCACHED,
        },
        "cloud": {"driver": "openstack", **account, **domains, "username": "leasehold", "password": CLOUD},
        "manager": {"retry_most_seconds": 1, "retry_first_seconds": 0.2},
    }


def write(folder: Path, sections: Mapping[str, Mapping[str, object]]) -> Path:
    path = folder / "leasehold.conf"
    path.write_text(as_text(sections), encoding="utf-8")
    return path
