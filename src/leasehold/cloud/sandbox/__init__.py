"""A small simulated cloud in a database: it stores resources, schedules servers as Nova does, and injects faults."""
