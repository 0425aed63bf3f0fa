"""A small cloud in a database: it keeps what it is told, schedules servers as Nova would, and fails on request."""
