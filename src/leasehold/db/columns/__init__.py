"""The columns of leases and their reservations, as the database keeps what the model has."""
