"""The only exception of the lab: a sentence for the user, with a remedy. Any other exception is a
bug."""

from __future__ import annotations


class LabError(Exception):
    """Stops the command: `message` goes to stderr as one sentence, `exit_code` to the shell.

    The message names the fault and ends with the remedy.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
