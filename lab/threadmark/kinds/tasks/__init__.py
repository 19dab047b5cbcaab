"""Task-parallel programs on backends, each against its serial form."""

COMMAND = "run"
RESUMABLE = True
