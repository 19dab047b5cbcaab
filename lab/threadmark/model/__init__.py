"""The vocabulary of all parts of the lab."""
