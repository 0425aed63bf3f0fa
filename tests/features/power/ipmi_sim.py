"""A management controller that speaks IPMI: `ipmi_sim` of OpenIPMI, whose machine is a file with 1 or 0."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.servers import ServerMissingError, find_program, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER, PASSWORD = "operator", "not-to-be-told"
LAN = """name "machine"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_admin none md2 md5 straight
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "{program} {state}"
  user 1 true "" "none" user 10 none md2 md5 straight
  user 2 true "{user}" "{password}" admin 10 none md2 md5 straight
"""
CONTROLLER = """mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr
mc_enable 0x20
"""
CHASSIS = """#!/bin/sh
# It is called with the file of the state, `get` and words, or `set` and pairs of a word and a value.
state=$1 verb=$2
shift 2
case $verb in
    get) for word in "$@"; do echo "$word:$(cat "$state")"; done;;
    set) while [ $# -gt 1 ]; do
            case $1 in power) echo "$2" > "$state";; shutdown) (sleep 1; echo 0 > "$state") & ;; esac
            shift 2
        done;;
esac
"""


@contextmanager
def ipmi_sim(folder: Path) -> Iterator[str]:
    """Run a controller of a machine that is on, which takes a second to shut down, and yield its address."""
    program = find_program("ipmi_sim")
    if program is None:
        raise ServerMissingError("The driver of IPMI is tested with ipmi_sim; on Debian: apt-get install openipmi")
    port, chassis, state = free_port(), folder / "chassis", folder / "power"
    chassis.write_text(CHASSIS)
    chassis.chmod(0o755)
    state.write_text("1\n")
    lan = LAN.format(port=port, program=chassis, state=state, user=USER, password=PASSWORD)
    (folder / "lan.conf").write_text(lan)
    (folder / "controller").write_text(CONTROLLER)
    files = (str(folder / name) for name in ("lan.conf", "controller", "kept"))
    words = [
        program,
        "-n",
        *(word for option, path in zip(("-c", "-f", "-s"), files, strict=True) for word in (option, path)),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(60)
