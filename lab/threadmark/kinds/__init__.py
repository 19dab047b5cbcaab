"""What a run may be of: a folder for each kind, and their interface."""
