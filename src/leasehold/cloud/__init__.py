"""The cloud, behind ports: what we need from one, and the implementations."""
