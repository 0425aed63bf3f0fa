"""The index of what is taken when, and the search in it. Pure."""
