"""Starts programs and keeps their results."""
