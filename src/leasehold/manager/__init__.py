"""The manager: claims due work, makes the cloud match the books, watches health (design §5)."""
