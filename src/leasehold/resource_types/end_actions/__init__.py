"""The end actions: a module for each word of `EndAction`, and what they have in common."""
