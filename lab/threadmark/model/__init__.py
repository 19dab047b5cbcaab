"""The vocabulary of the lab: what every part speaks in."""
