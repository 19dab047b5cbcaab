"""The kinds of run: a folder for each kind, and their interface."""
