"""A kind of run that the lab measures cell by cell: the time that each program takes."""

COMMAND = "lengths"
RESUMABLE = True
