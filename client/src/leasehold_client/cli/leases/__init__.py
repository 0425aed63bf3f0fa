"""The commands for leases, also flexible ones, and for offers, series and templates that become leases."""
