"""Calls Slurm's own client library by ctypes, so that no start of a program is measured."""

from __future__ import annotations

import ctypes
import getpass
import os
from ctypes import POINTER, byref, c_char_p, c_long, c_uint32, c_void_p, cast
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bench.peers.gap import first_gap
from bench.peers.header import structure
from bench.peers.nodes import numbers
from bench.peers.packages import header, library
from bench.peers.peer import Asked, Held

if TYPE_CHECKING:
    from pathlib import Path

    from bench.peers.peer import Booking, Window

REFUSALS: Final = ("Requested nodes are busy", "Requested reservation overlaps with another reservation")
"""What Slurm says when a reservation has no room; every other error is one of ours."""


class SlurmError(Exception):
    """Slurm did not do what was asked, for another reason than a lack of hosts."""


class LibSlurm:
    """A client of one `slurmctld`; several threads may use it at once, because each call opens its own connection."""

    def __init__(self, root: Path, configuration: Path) -> None:
        """Load the library of the unpacked packages; a process can do so for one configuration only."""
        self._user = getpass.getuser().encode()
        text = header(root, "slurm.h")
        self._description = structure(text, "resv_desc_msg_t")
        self._deletion = structure(text, "reservation_name_msg_t")
        self._record = structure(text, "reserve_info_t")
        self._records = structure(text, "reserve_info_msg_t")
        times = ("start_time", "end_time")
        offsets = [getattr(self._record, name).offset for name in times]
        size = ctypes.sizeof(self._record)
        self._times = np.dtype({"names": times, "formats": ["i8"] * 2, "offsets": offsets, "itemsize": size})
        # Plugins find the library's symbols among those of the process.
        self._library = ctypes.CDLL(str(library(root, "libslurm.so.38")), mode=ctypes.RTLD_GLOBAL, use_errno=True)
        self._library.slurm_create_reservation.restype = c_void_p
        self._library.slurm_strerror.restype = c_char_p
        self._library.slurm_init(os.fsencode(configuration))

    def create(self, booking: Booking, nodes: str = "") -> Asked[bool]:
        """Ask for so many nodes, or for these."""
        asked = self._described(booking.name)
        asked.start_time, asked.end_time, asked.users = booking.start, booking.end, self._user
        # It ends with a zero, and has to live until the call has returned.
        count = (c_uint32 * 2)(booking.hosts, 0)
        if nodes:
            asked.node_list = nodes.encode()
        else:
            asked.node_cnt = cast(count, c_void_p)
        begun = perf_counter()
        name = self._library.slurm_create_reservation(byref(asked))
        seconds = perf_counter() - begun
        return Asked(self._granted(bool(name)), seconds)

    def amend(self, name: str, end: int) -> Asked[bool]:
        """Ask for another end."""
        asked = self._described(name)
        asked.end_time = end
        begun = perf_counter()
        failed = self._library.slurm_update_reservation(byref(asked))
        seconds = perf_counter() - begun
        return Asked(self._granted(not failed), seconds)

    def delete(self, name: str) -> Asked[bool]:
        """Delete a reservation; one that is not there is an error."""
        asked = self._deletion(name=name.encode())
        begun = perf_counter()
        failed = self._library.slurm_delete_reservation(byref(asked))
        seconds = perf_counter() - begun
        if failed:
            raise SlurmError(self._error())
        return Asked(value=True, seconds=seconds)

    def show(self, name: str) -> Asked[bool]:
        """Read all, as `scontrol show reservation NAME` does: there is no call for one, and to look for it is free."""
        del name
        count, seconds = self.list_all()
        return Asked(count > 0, seconds)

    def list_all(self) -> Asked[int]:
        """Read all reservations."""
        begun = perf_counter()
        found = self._load()
        seconds = perf_counter() - begun
        count = int(found.contents.record_count)
        self._library.slurm_free_reservation_info_msg(found)
        return Asked(count, seconds)

    def earliest(self, window: Window) -> Asked[int]:
        """Read all reservations and look for the gap here: Slurm has no call that does."""
        begun = perf_counter()
        found = self._load()
        size = found.contents.record_count * ctypes.sizeof(self._record)
        table = np.frombuffer(ctypes.string_at(found.contents.reservation_array, size), self._times)
        moment = first_gap(table["start_time"], table["end_time"], window)
        self._library.slurm_free_reservation_info_msg(found)
        return Asked(moment, perf_counter() - begun)

    def held(self) -> dict[str, Held]:
        """Return all reservations by name."""
        found = self._load()
        rows = {
            each.name.decode(): Held(numbers((each.node_list or b"").decode()), each.start_time, each.end_time)
            for each in self._rows(found)
        }
        self._library.slurm_free_reservation_info_msg(found)
        return rows

    def _described(self, name: str) -> Any:
        asked = self._description()
        self._library.slurm_init_resv_desc_msg(byref(asked))
        asked.name = name.encode()
        return asked

    def _load(self) -> Any:
        found = POINTER(self._records)()
        if self._library.slurm_load_reservations(c_long(0), byref(found)):
            raise SlurmError(self._error())
        return found

    def _rows(self, found: Any) -> Any:
        count = found.contents.record_count
        return cast(found.contents.reservation_array, POINTER(self._record * count)).contents if count else ()

    def _granted(self, granted: bool) -> bool:  # noqa: FBT001 - what the call has returned.
        if not granted and (message := self._error()) not in REFUSALS:
            raise SlurmError(message)
        return granted

    def _error(self) -> str:
        message: bytes = self._library.slurm_strerror(ctypes.get_errno())
        return message.decode()
