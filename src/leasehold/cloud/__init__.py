"""The cloud: the ports that Leasehold needs, and their implementations."""
