"""The nouns of the service, as plain values: no I/O, nothing of ours above them."""
