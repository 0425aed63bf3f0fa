"""Benchmarks that measure the budgets of design §10, and the replay of traces."""
