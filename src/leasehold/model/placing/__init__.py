"""Which servers and hosts go where: pure searches for the choice that costs least."""
