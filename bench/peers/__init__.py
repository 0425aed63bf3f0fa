"""Leasehold beside Slurm, the fastest system that reserves ahead: one workload, and what each answer is worth."""
