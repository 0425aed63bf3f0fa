"""What stands in for hardware: a compute node that is always the same one, and ports that bind anywhere."""
