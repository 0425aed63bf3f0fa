"""Entry points: the only place that decides which cloud, which database and which settings meet."""
