"""Taking over from Blazar: its database becomes our books, row by row, and what cannot is named."""
