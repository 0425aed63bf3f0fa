"""Does everything agree? The database with itself, the cloud with the database; and what can be done about the rest."""
