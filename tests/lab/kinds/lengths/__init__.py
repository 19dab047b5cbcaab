"""A kind of run that is measured cell by cell: how long each program takes."""

COMMAND = "lengths"
RESUMABLE = True
