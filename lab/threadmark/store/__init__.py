"""The file that keeps runs."""
