"""The one exception of the lab: a sentence for the person, with what to do. All else is a bug."""

from __future__ import annotations


class LabError(Exception):
    """Stops the command: `message` goes to stderr as one sentence, `exit_code` to the shell.

    The message says what is wrong and ends with the remedy.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code
