"""Starts programs and keeps what they left."""
