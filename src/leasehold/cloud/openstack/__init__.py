"""The ports on OpenStack, one module for each part of a service; only this package may import openstacksdk."""
