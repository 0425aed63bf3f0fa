"""Decisions that may move leases which have not started, so that another one fits."""
