"""Leases: their rows, and which of them somebody has to look at."""
