"""The API for a WSGI server such as gunicorn or uWSGI: `leasehold.wsgi:application`.

Such a server uses the command line itself, so environment variables name the configuration files:
`OS_LEASEHOLD_CONFIG_DIR` is the folder, `OS_LEASEHOLD_CONFIG_FILES` the files in it, separated by semicolons (default
`leasehold.conf`). Without both the files are searched as by all our programs.
"""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from leasehold.cmd.compose import build_service, load_calendars
from leasehold.cmd.options import configure, explained
from leasehold.cmd.web import make_app
from leasehold.conf.load import FILE_NAME, SYSTEM_DIRECTORY
from leasehold.leasing.refusals import counted_until_exit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.app import App

PROG = "leasehold-wsgi"
FOLDER_VARIABLE = "OS_LEASEHOLD_CONFIG_DIR"
FILES_VARIABLE = "OS_LEASEHOLD_CONFIG_FILES"


def arguments(environment: Mapping[str, str]) -> list[str]:
    """Return the command-line options for the files that the environment names."""
    folder = environment.get(FOLDER_VARIABLE, "").strip()
    names = [name.strip() for name in environment.get(FILES_VARIABLE, "").split(";") if name.strip()]
    if not folder and not names:
        return []
    paths = [Path(folder or SYSTEM_DIRECTORY) / name for name in names or [FILE_NAME]]
    return [f"--config-file={path}" for path in paths]


def _make() -> App:
    config = configure(PROG, arguments(os.environ))
    with explained(PROG):
        service = build_service(config, Event())
        load_calendars(service)
        app = make_app(service, config.api, config.raw, refusals=counted_until_exit(service.db))
    # The server may fork its workers from here on, and two processes must not share a connection.
    service.db.engine.dispose()
    return app


application = _make()
