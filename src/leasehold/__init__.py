"""Leasehold: a reservation service for clouds."""
