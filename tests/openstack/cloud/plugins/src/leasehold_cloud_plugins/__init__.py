"""Drivers that replace hardware: a compute node that keeps its identity, and ports that bind on any host."""
