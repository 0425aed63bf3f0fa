"""The web console: its files, who is signed in there, and its way to the API (design §8)."""
