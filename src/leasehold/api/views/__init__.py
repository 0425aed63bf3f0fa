"""From domain values to answers: plain functions, one module for each noun."""
