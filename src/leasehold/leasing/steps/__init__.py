"""The steps of a lease: what a worker does at its start, at its end, and for its hosts meanwhile."""
