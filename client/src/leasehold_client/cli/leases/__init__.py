"""The commands for leases, and for offers, series and templates that become leases."""
