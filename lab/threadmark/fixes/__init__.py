"""Fixes that need no edit of a program: what they set, when they can help, and what they risk."""
