"""An ML2 mechanism driver that binds every port on every host. No agent runs there that could say otherwise."""

from __future__ import annotations

from typing import Any

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class EverywhereDriver(api.MechanismDriver):  # type: ignore[misc]
    # ML2 asks every driver for it; None says that we have no resource providers in Placement.
    resource_provider_uuid5_namespace = None

    def initialize(self) -> None:
        """Nothing to set up; the base class demands the method."""

    @property
    def connectivity(self) -> str:
        layer: str = portbindings.CONNECTIVITY_L2
        return layer

    def bind_port(self, context: Any) -> None:
        segment = next(iter(context.segments_to_bind), None)
        if segment is not None:
            details = {portbindings.CAP_PORT_FILTER: False}
            context.set_binding(
                segment[api.ID], portbindings.VIF_TYPE_OVS, details, status=constants.PORT_STATUS_ACTIVE
            )
