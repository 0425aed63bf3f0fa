"""The inventory: which devices there are, how they are, and for whom each is prepared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import requests
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leasehold.cloud.ports import CloudTransientError

ANSWER_SECONDS = 10.0


class Device(BaseModel):
    """A device. `enabled: false` is maintenance; `reservation` is the one that it is prepared for, if that is known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(min_length=1, max_length=200, pattern="^[^/]+$")]
    up: bool = True
    enabled: bool = True
    reservation: str | None = None
    attributes: dict[str, str | int | float] = {}


class _Document(BaseModel):
    devices: list[Device]


class Inventory:
    """Reads the description anew with each question, so that a change of it needs no restart."""

    def __init__(self, where: str) -> None:
        """Read nothing yet; `where` is a file or an http(s) address."""
        self._where = where

    def devices(self) -> dict[str, Device]:
        """Return the devices by name; raises CloudTransientError when the description cannot be read."""
        try:
            found = _Document.model_validate(yaml.safe_load(self._text()))
        except (OSError, requests.RequestException, yaml.YAMLError, ValidationError) as error:
            message = f"the inventory of devices {self._where} cannot be read: {_first_line(error)}"
            raise CloudTransientError(message) from error
        return {device.name: device for device in found.devices}

    def _text(self) -> Any:
        if not self._where.startswith(("http://", "https://")):
            return Path(self._where).read_text("utf-8")
        answer = requests.get(self._where, timeout=ANSWER_SECONDS)
        answer.raise_for_status()
        return answer.text


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
