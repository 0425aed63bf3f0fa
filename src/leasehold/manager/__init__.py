"""The manager: claims due work, makes the cloud match the database, watches health (design §5)."""
