"""Fixes that need no edit of a program: their settings, the cases in which they can help, and their
risks."""
