"""Benchmarks and the replay of traces: what the budgets of design §10 are measured with."""
