"""The scene in which the cloud is changed by hand."""

from tests.unit.leasing.conftest import busy, scene

__all__ = ["busy", "scene"]
