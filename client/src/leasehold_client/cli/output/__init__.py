"""What is printed: columns, sentences and drawings."""
