"""An ML2 mechanism driver that binds every port on every host, because no agent runs there."""

from __future__ import annotations

from typing import Any

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class EverywhereDriver(api.MechanismDriver):  # type: ignore[misc]
    # ML2 reads it from every driver; None means no resource providers in Placement.
    resource_provider_uuid5_namespace = None

    def initialize(self) -> None:
        """Do nothing; the base class requires the method."""

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
