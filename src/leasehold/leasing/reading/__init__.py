"""The read side: what there is, what a lease has, and what happened."""
