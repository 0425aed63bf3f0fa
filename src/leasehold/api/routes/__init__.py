"""The routes of the core, a table for each noun; each feature has its own beside its handlers."""
