"""Who calls: one module for each strategy, chosen by name in `strategies`."""
