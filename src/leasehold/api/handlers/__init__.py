"""From a call to a use case and back: HTTP alone, one module for each noun."""
