"""The limits of the record for languages that have threads or locks of their own within the
process."""

from __future__ import annotations

import re

from threadmark.kinds.explain.analysis.recording import Recording

# Functions in which a thread of Go's scheduler is, whatever the program does.
_OF_GO = re.compile(
    r"runtime\.(futex|usleep|mstart|mcall|mPark|goexit|schedule|findRunnable|epollwait|nanotime1?)"
    r"(\.abi0|\d)?"
)
_OF_JAVA = re.compile(r"libjvm\.so|libj9vm\d*\.so")


def limits_of_languages(recording: Recording) -> list[str]:
    """A sentence for each such language."""
    found = []
    if any(_OF_GO.fullmatch(each.name) for each in recording.symbols if not each.data):
        found.append(
            "Goroutines that wait are not visible: the threads are those of Go's scheduler, which "
            "wait for work; Go's block and mutex profiles show channels and locks."
        )
    if any(_OF_JAVA.fullmatch(each.path.rpartition("/")[2]) for each in recording.modules.values()):
        found.append(
            "Java's monitors and locks are not visible: their waits show as conditions of the "
            "virtual machine; Java's flight recorder (JFR) names them."
        )
    return found
