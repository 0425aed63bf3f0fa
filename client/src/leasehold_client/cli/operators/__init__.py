"""The commands for the operators of the cloud."""
