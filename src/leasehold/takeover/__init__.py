"""Taking over from Blazar: its database becomes our database, row by row, and what cannot is named."""
