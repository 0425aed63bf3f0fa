"""What a cloud could do without: one package for each feature, and nothing of them in the rest of the service."""
