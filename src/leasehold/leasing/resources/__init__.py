"""What can be leased: it is enrolled, changed, watched, and moved between the pools."""
