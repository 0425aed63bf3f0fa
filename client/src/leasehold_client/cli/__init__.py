"""The command line: the same commands as `leasehold …` and as `openstack reservation …`."""
