"""The formats of requests, as pydantic models, and of answers, as typed dictionaries."""
