"""What the words of the command line mean: times, conditions, reservations, and the options that take them."""
