"""How many requests run, wait and come in a minute: no project takes the room of the others."""
