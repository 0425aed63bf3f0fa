"""What goes over the wire: pydantic models of requests, and typed dictionaries of answers."""
