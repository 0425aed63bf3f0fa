"""Resource types as plugins: each describes what it asks for, picks, and how the cloud should look."""
