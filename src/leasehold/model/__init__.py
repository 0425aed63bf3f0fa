"""The domain model, as plain values: no I/O, and no imports of other packages of Leasehold."""
