"""Runs of `try`: a program as it is and under each fix that needs no edit, in pairs."""

COMMAND = "try"
