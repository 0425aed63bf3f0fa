"""Authentication: one module for each strategy, chosen by name in `strategies`."""
