"""Other resources take over from those that have failed."""
