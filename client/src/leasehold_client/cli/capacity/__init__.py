"""The commands that say what is free, and when."""
