"""Authorization: Blazar's rule names and defaults (contract http-api §9), one module for each noun."""
