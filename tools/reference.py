"""Writes docs/reference from the code: options, policies, the states of a lease, the history of the API.

`--check` only checks the pages.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oslo_config import cfg, types

from leasehold.api import versions
from leasehold.api.routes import event_log, floatingip, host, lease, resource
from leasehold.cmd.web import ROUTES, list_rules
from leasehold.conf.opts import list_library_opts
from leasehold.features.registry import FEATURES, list_opts
from leasehold.model.transitions import TABLE, Becomes, Transition, always

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from leasehold.api.route import Route

FOLDER = Path(__file__).parent.parent / "docs" / "reference"

OPTIONS = """# Options

Made by `make reference` from the code; change the help texts there.

`leasehold.conf` is an oslo.config file. The programs read the file that `--config-file` names, else `leasehold.conf` in
the folder they are started in, else `/etc/leasehold/leasehold.conf`, else `/etc/blazar/blazar.conf`. All programs read
the same file. A change takes effect when the program is started again.
`oslo-config-generator --namespace leasehold` prints all options as a file.

Options marked *secret* never appear in a log. `[cloud]` shows the options of a login with a password; other values of
`auth_type` have others, see keystoneauth.
"""

LIBRARY_OPTIONS = """
## Options of the libraries

The programs read these as well; the texts are the libraries' own.
"""

POLICIES = """# Policies

Made by `make reference` from the code.

A rule in the file `[oslo_policy] policy_file` (default `policy.yaml`, beside `leasehold.conf`) replaces the default
here. `oslopolicy-sample-generator --namespace leasehold` prints all of them as such a file. A change takes effect when
the API is started again. A rule about a lease is checked against the project that owns the lease, not the caller's.
"""

STATES = """# The life of a lease

Made by `make reference` from `model/transitions.py`; change the table there.

Each row is one transition: when the trigger happens to a lease in one of these states, and the guard holds, the events
and the reservations get a new status, and the lease goes to the next state. The first row that fits is taken. Nothing
else changes a status, and what no row makes is not saved. A status in brackets is the one before; without it, any.

"""

API_HISTORY = f"""# The history of the API

Made by `make reference` from `api/versions.py`; the OpenAPI document (`GET /v1/openapi.json`) has it as well.

A request asks for a microversion in `{versions.HEADER}: {versions.SERVICE_TYPE} VERSION`, or `latest`; without it
{versions.DEFAULT} is served. Every version from {versions.MINIMUM} to {versions.MAXIMUM} is served for good: what a
client of one version sees does not change.

"""

CORE_ROUTES: Mapping[str, Iterable[Route]] = {
    "Leases": lease.ROUTES,
    "Hosts": host.ROUTES,
    "Floating IPs": floatingip.ROUTES,
    "Resources of any type": resource.ROUTES,
    "The event log": event_log.ROUTES,
}
OWN = {rule.name for route in ROUTES for rule in route.rules}


def options() -> str:
    """Return the page about options."""
    ours = "\n".join(_section(group, opts) for group, opts in list_opts())
    theirs = "\n".join(_section(group, opts) for group, opts in list_library_opts())
    return f"{OPTIONS}\n{ours}{LIBRARY_OPTIONS}\n{theirs}"


def states() -> str:
    """Return the page about the transitions of a lease: a drawing, and the table."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for row in TABLE:
        for state in sorted(row.states):
            if row.next not in (None, state):
                arrows.setdefault((state, str(row.next)), []).append(row.trigger.value)
    lines = [f"    {old} --> {new}: {', '.join(dict.fromkeys(said))}" for (old, new), said in sorted(arrows.items())]
    drawing = "\n".join(
        [
            "```mermaid",
            "stateDiagram-v2",
            "    [*] --> PENDING: created",
            "    [*] --> IN_PROGRESS: created and waits",
            "    [*] --> OFFERED: offered",
            *lines,
            "```",
        ]
    )
    titles = ("trigger", "states", "guard", "events", "reservations", "next")
    return f"{STATES}{drawing}\n\n{_table(titles, map(_transition, TABLE))}"


def _transition(row: Transition) -> tuple[str, ...]:
    events = [f"{kind} {_change(change)}" for kind, change in row.events.items()]
    parts = [
        f"{which} {_change(change)}" for which, change in (("done:", row.done), ("refused:", row.refused)) if change
    ]
    guard = (row.guard.__doc__ or "").rstrip(".")
    return (
        row.trigger.value,
        ", ".join(sorted(row.states)),
        "" if row.guard is always else f"{guard[:1].lower()}{guard[1:]}",
        ", ".join(events),
        ", ".join(parts),
        row.next or "the same",
    )


def _change(change: Becomes[Any]) -> str:
    before = "" if change.sources is None else f"({' or '.join(sorted(change.sources))}) "
    return f"{before}→ {change.target}"


def _section(group: str | None, opts: Iterable[cfg.Opt]) -> str:
    rows = [(f"`{opt.dest}`", _kind(opt), _default(opt), _help(opt)) for opt in opts]
    return f"## [{group or 'DEFAULT'}]\n\n{_table(('option', 'kind', 'default', 'what it does'), rows)}"


def _kind(opt: cfg.Opt) -> str:
    kind = opt.type
    choices = getattr(kind, "choices", None)
    if choices:
        return "one of " + ", ".join(f"`{choice}`" if choice else "nothing" for choice in choices)
    limits: dict[str, float | None] = {"at least": getattr(kind, "min", None), "at most": getattr(kind, "max", None)}
    known = limits if not isinstance(kind, types.Port) else {}
    bounds = [f"{word} {limit}" for word, limit in known.items() if limit is not None]
    return ", ".join([_word(opt), *bounds])


def _word(opt: cfg.Opt) -> str:
    words: dict[type, str] = {
        types.Port: "port",
        types.Integer: "whole number",
        types.Float: "number",
        types.Boolean: "yes or no",
        types.List: "list, comma separated",
        types.HostAddress: "host name or address",
    }
    found = words.get(type(opt.type), "text")
    return f"{found}, repeatable" if opt.multi else found


def _default(opt: cfg.Opt) -> str:
    value = opt.sample_default if opt.sample_default is not None else opt.default
    if value is None or value in ("", []):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{', '.join(map(str, value)) if isinstance(value, list) else value}`"


def _help(opt: cfg.Opt) -> str:
    text = " ".join((opt.help or "").split())
    parts = [text if text.endswith(".") else f"{text}."]
    parts += [f"Also read as `[{old.group or 'DEFAULT'}] {old.name}`." for old in opt.deprecated_opts if old.name]
    if opt.secret:
        parts.append("*Secret.*")
    if opt.required:
        parts.append("*Required.*")
    if opt.deprecated_for_removal:
        parts.append("*Deprecated.*")
    return " ".join(parts)


def policies() -> str:
    """Return the page about policies."""
    rules = {rule.name: rule for rule in list_rules()}
    sections = {}
    for title, routes in {**CORE_ROUTES, **{each.title: each.routes() for each in FEATURES}}.items():
        # A rule is said where a route has it as one of its own, or else where it is first asked for within one.
        own = {rule.name for route in routes for rule in route.rules}
        within = {rule.name for route in routes for rule in route.within} - OWN
        sections[title] = [rules.pop(name) for name in list(rules) if name in own | within]
    sections["Rules that other rules refer to"] = list(rules.values())
    return POLICIES + "".join(f"\n## {title}\n\n{_rules(found)}" for title, found in sections.items() if found)


def _rules(rules: Iterable[Any]) -> str:
    rows = [
        (
            f"`{rule.name}`",
            f"`{rule.check_str}`",
            ", ".join(f"`{each['method']} {each['path']}`" for each in getattr(rule, "operations", ())) or "none",
            ", ".join(rule.scope_types or ()) or "any",
            rule.description or "",
        )
        for rule in rules
    ]
    return _table(("rule", "default", "checked by", "scope", "what it allows"), rows)


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [titles, tuple("---" for _ in titles), *(tuple(_cell(text) for text in row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def stale() -> Iterator[tuple[Path, str]]:
    """Yield the pages that are out of date, each with its new text."""
    history = API_HISTORY + versions.history("##")
    pages = {"options.md": options(), "policies.md": policies(), "states.md": states(), "api-history.md": history}
    for name, text in pages.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield path, text


def main() -> None:
    """Write the pages, or only check them."""
    pages = list(stale())
    if "--check" in sys.argv[1:]:
        for path, _ in pages:
            print(f"{path.name} is out of date: run make reference.")
        raise SystemExit(1 if pages else 0)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in pages:
        path.write_text(text, encoding="utf-8")
        print(f"{path.name} is written.")


if __name__ == "__main__":
    main()
