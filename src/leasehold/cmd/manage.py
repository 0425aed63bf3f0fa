"""`leasehold-manage`: commands for operators: schema, clock, old leases, record, audit, pools, import, passwords."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError
from datetime import timedelta
from getpass import getpass
from threading import Event
from typing import TYPE_CHECKING

from leasehold import conf
from leasehold.cmd import database, import_blazar, pools, record, sandbox
from leasehold.cmd.database import OperatorError
from leasehold.db import schema
from leasehold.db.clock import accept_clock, ask_clock, is_believed, shared_clock, utc_now
from leasehold.db.past import history
from leasehold.features.registry import FEATURES, all_tables

if TYPE_CHECKING:
    from argparse import Namespace, _SubParsersAction
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from leasehold.leasing.service import Service

PROG = "leasehold-manage"


def main() -> None:
    """Run the command that the arguments name and end with its exit code: 0 when all is well, 1 when not."""
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output has closed it, as `| head` does. Otherwise Python reports the error again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    raise SystemExit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; an error that an operator can repair is a sentence and code 1."""
    where = ArgumentParser(add_help=False, allow_abbrev=False)
    database.add_options(where)
    # These options are parsed first, so that they may stand anywhere on the command line.
    args, rest = where.parse_known_args(arguments)
    args.prog = PROG
    _parser(where).parse_args(rest, args)
    try:
        return _run_alone(args) if args.alone else _run_on_database(args)
    except (OperatorError, conf.ConfigurationError) as error:
        sys.stderr.write(f"{PROG}: {error}\n")
        return 1


def _run_alone(args: Namespace) -> int:
    code: int = args.run(args)
    return code


def _run_on_database(args: Namespace) -> int:
    url = database.database_url(args)
    engine = database.open_database(url, make=args.make)
    try:
        with database.explained(url):
            code: int = args.run(args, engine)
            return code
    finally:
        engine.dispose()


def _parser(where: ArgumentParser) -> ArgumentParser:
    parser = ArgumentParser(PROG, description="Look after an installation of Leasehold.", parents=[where])
    parser.add_argument("--version", action="version", version=conf.version())
    parser.set_defaults(alone=False, make=False)
    groups = parser.add_subparsers(required=True, metavar="COMMAND")
    about = "the schema of the database"
    _add_database(groups.add_parser("db", help=about, description=about).add_subparsers(required=True, metavar="VERB"))
    about = "the sandbox cloud, to try things with"
    inside = groups.add_parser("sandbox", help=about, description=about)
    inside.set_defaults(make=True)
    sandbox.add_commands(inside.add_subparsers(required=True, metavar="VERB"))
    _add_clock(groups)
    _add_purge(groups)
    record.add_command(groups)
    pools.add_command(groups)
    import_blazar.add_command(groups)
    for each in FEATURES:
        each.add_command(groups, _make_service)
    _add_hash_password(groups)
    return parser


def _make_service(args: Namespace, engine: Engine) -> Service:
    from leasehold.cmd.compose import service_on  # noqa: PLC0415 - only here, so that the other commands start faster.

    return service_on(engine, database.load_config(args, engine), Event())


# ---------------------------------------------------------------- the schema


def _add_database(verbs: _SubParsersAction[ArgumentParser]) -> None:
    verbs.add_parser("upgrade", help="make the tables, or bring them up to date").set_defaults(run=_upgrade, make=True)
    verbs.add_parser("current", help="say which schema the database has").set_defaults(run=_current)
    verbs.add_parser("history", help="list the schemas that this version knows").set_defaults(run=_history, alone=True)
    verbs.add_parser("check", help="fail unless the schema is up to date").set_defaults(run=_check)


def _upgrade(_args: Namespace, engine: Engine) -> int:
    before = schema.current(engine)
    schema.upgrade(engine)
    now = schema.current(engine)
    _say(f"The schema is {now}, as it was." if now == before else f"The schema is {now}.")
    return 0


def _current(_args: Namespace, engine: Engine) -> int:
    _say(schema.current(engine) or "none")
    return 0


def _history(_args: Namespace) -> int:
    for number, what in schema.revisions().items():
        _say(f"{number}  {what}")
    return 0


def _check(_args: Namespace, engine: Engine) -> int:
    _say(schema.check(engine))
    return 0


# ---------------------------------------------------------------- the clock


def _add_clock(groups: _SubParsersAction[ArgumentParser]) -> None:
    about = "the database's clock, by which leases begin and end"
    verbs = groups.add_parser("clock", help=about, description=about).add_subparsers(required=True, metavar="VERB")
    text = "compare it with this machine's, and fail when no process follows it"
    verbs.add_parser("show", help=text, description=text).set_defaults(run=_show_clock)
    text = "make all processes follow it again, after it was set and they count on from the time before"
    verbs.add_parser("accept", help=text, description=text).set_defaults(run=_accept_clock)


def _show_clock(_args: Namespace, engine: Engine) -> int:
    schema.check(engine)
    if engine.dialect.name == "sqlite":
        _say(f"On SQLite leases go by this machine's clock, which says {utc_now():{_MOMENT}} UTC.")
        return 0
    look = ask_clock(engine)
    _say(f"The database's clock says {look.moment:{_MOMENT}} UTC, this machine's {utc_now():{_MOMENT}} UTC.")
    seen = "never" if look.seen_at is None else f"at {look.seen_at:{_MOMENT}} UTC"
    if is_believed(look):
        _say(f"It is followed: a process last checked it {seen}.")
        return 0
    _say(
        f"A process last followed it {seen}, so no process follows it now. Either none runs, or they ignore it because "
        "it has jumped. If it is wrong, set it right; if it is right, run leasehold-manage clock accept."
    )
    return 1


_MOMENT = "%Y-%m-%d %H:%M:%S"


def _accept_clock(_args: Namespace, engine: Engine) -> int:
    schema.check(engine)
    if engine.dialect.name == "sqlite":
        raise OperatorError("On SQLite leases go by this machine's clock, which is followed as it is.")
    _say(f"Accepted: it is {accept_clock(engine):%Y-%m-%d %H:%M:%S} UTC. Leases that are over by then end now.")
    return 0


# ---------------------------------------------------------------- old leases


def _add_purge(groups: _SubParsersAction[ArgumentParser]) -> None:
    text = "remove leases that were deleted or ended long ago, and removed resources that nothing refers to"
    purge = groups.add_parser("purge", help=text, description=text)
    purge.add_argument("--older-than", type=_days, required=True, metavar="DAYS", help="1 or more")
    text = "also remove the record of what was held before that; without this it is kept"
    purge.add_argument("--with-record", action="store_true", help=text)
    purge.add_argument("--dry-run", action="store_true", help="only count what would be removed")
    purge.set_defaults(run=_purge)


def _days(text: str) -> timedelta:
    try:
        age = timedelta(days=int(text))
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"{text!r} is not a number of days") from None
    if age < history.LEAST_AGE:
        raise ArgumentTypeError("only what is at least 1 day old can be removed")
    return age


def _purge(args: Namespace, engine: Engine) -> int:
    schema.check(engine)
    now = shared_clock(engine)()
    if args.older_than > now - now.min.replace(tzinfo=now.tzinfo):
        raise OperatorError("Nothing can be as old as that: give --older-than fewer days.")
    counts = history.purge(
        engine, now, args.older_than, dry_run=args.dry_run, record=args.with_record, tables=all_tables()
    )
    if not any(counts.values()):
        _say("There is nothing to remove.")
        return 0
    _say("Rows that would be removed:" if args.dry_run else "Removed rows:")
    for name, number in counts.items():
        _say(f"  {number:>9}  {name}")
    return 0


# ---------------------------------------------------------------- users of http_basic


def _add_hash_password(groups: _SubParsersAction[ArgumentParser]) -> None:
    text = "print a user's line for the file [api] users_file, which auth_strategy http_basic reads"
    hashing = groups.add_parser("hash-password", help=text, description=f"{text}; asks for the password.")
    hashing.add_argument("user", metavar="USER", type=_field)
    hashing.add_argument("project", metavar="PROJECT", type=_field)
    hashing.add_argument("--role", action="append", default=[], type=_field, help="may be given several times")
    hashing.set_defaults(run=_hash_password, alone=True)


def _field(text: str) -> str:
    if not text or set(text) & set(":,#") or not text.isprintable() or text != text.strip():
        raise ArgumentTypeError(f"{text!r} may not be empty or hold ':', ',', '#' or blanks at its ends")
    return text


def _hash_password(args: Namespace) -> int:
    import bcrypt  # noqa: PLC0415 - this and the next only here, so that the other commands start faster.

    from leasehold.api.auth.http_basic import LONGEST_PASSWORD  # noqa: PLC0415

    password = _ask_password().encode()
    if not 0 < len(password) <= LONGEST_PASSWORD:
        raise OperatorError(f"A password has 1 to {LONGEST_PASSWORD} bytes in UTF-8: choose another.")
    hashed = bcrypt.hashpw(password, bcrypt.gensalt()).decode()
    _say(":".join((args.user, hashed, args.project, ",".join(args.role) or "member")))
    return 0


def _ask_password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = getpass()
    if getpass("Again: ") != password:
        raise OperatorError("The two passwords differ: run the command again.")
    return password


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
