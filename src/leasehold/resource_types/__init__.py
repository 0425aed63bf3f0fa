"""Resource types as plugins: a kind parses requests and chooses resources, and a driver converges the cloud."""
