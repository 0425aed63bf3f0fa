"""Usage enforcement: filters that look at a whole proposed lease and may refuse it (lifecycle §10, feature H1)."""
