"""Configuration: oslo.config option groups on the outside, frozen dataclasses inside."""

from leasehold.conf.errors import ConfigurationError
from leasehold.conf.load import Config, load, version

__all__ = ["Config", "ConfigurationError", "load", "version"]
