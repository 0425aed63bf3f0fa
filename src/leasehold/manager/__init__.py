"""The manager: claims due tasks, converges the cloud to the database, and monitors hosts (design §5)."""
