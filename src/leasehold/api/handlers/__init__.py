"""Handlers: translate between HTTP and the use cases, one module for each noun."""
