"""`site:device`: boards, instruments and GPUs by card, which a start hook prepares and an end hook cleans."""

from oslo_config import cfg

from leasehold.resource_types.registry import ResourceType
from leasehold_devices.driver import DeviceDriver
from leasehold_devices.hook import Hook
from leasehold_devices.inventory import Inventory
from leasehold_devices.kind import DeviceKind

GROUP = "devices"
OPTIONS = [
    cfg.StrOpt(
        "inventory",
        default="/etc/leasehold/devices.yaml",
        help="Where the devices are described: a YAML file, or an http(s) address that answers with YAML or JSON.",
    ),
    cfg.StrOpt("start_hook", help="Program that prepares a device: called with device, reservation and project."),
    cfg.StrOpt("end_hook", help="Program that cleans a device, called in the same way."),
    cfg.FloatOpt("hook_seconds", default=300.0, min=1.0, help="Seconds after which a hook is killed and tried again."),
]


def load(options: cfg.ConfigOpts) -> ResourceType:
    """Return the resource type, as the configuration describes it."""
    options.register_opts(OPTIONS, GROUP)
    mine = options[GROUP]
    start, end = (Hook(program, mine.hook_seconds) for program in (mine.start_hook, mine.end_hook))
    return ResourceType(DeviceKind(), DeviceDriver(Inventory(mine.inventory), start, end))


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options, for oslo-config-generator."""
    return [(GROUP, OPTIONS)]
