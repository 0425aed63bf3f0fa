"""The commands for resources and what is allocated of them."""
