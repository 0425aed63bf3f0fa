"""Resources: their rows, their property definitions, and who has them."""
