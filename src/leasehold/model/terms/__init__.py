"""What is agreed with a lease: how it is granted, begins, is healed, ends, and what it prefers."""
