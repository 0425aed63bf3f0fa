"""The index of a pool's allocations over time, and the search in it. Pure: no I/O."""
