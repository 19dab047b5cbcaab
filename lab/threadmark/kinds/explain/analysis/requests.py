"""The waits of a server for requests, which the program cannot avoid.

A process that ran before the recording counts as a server. Its threads wait in poll, select,
epoll_wait, accept or recv until a request comes. That is no cost of the program, but it shows the
time without requests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from threadmark.kinds.explain.analysis.cause import LEAST, Cause
from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.recording import Recording

POLL = "poll"  # the case of a cause of input and output
POLLS = "threads wait until there is input for them"
MAY_BE = "what it serves may ask for nothing meanwhile"
INSIDE = "or for a thread of the program at the other end of a socket"
_RECEIVES = re.compile(r"_*(GI_|libc_)?_*(recv(from|m?msg)?|accept4?)(64)?(_nocancel)?")
_READS = re.compile(r"_*(GI_|libc_)?_*p?readv?(64)?(_nocancel)?")
_LOCKS = re.compile(r"_*(GI_|libc_)?_*(flock|lockf|fcntl)(64)?(_nocancel)?")


def locks_file(frames: Sequence[Frame]) -> bool:
    """Whether the innermost function waits for the lock of a file."""
    return bool(frames) and not frames[0].own and bool(_LOCKS.fullmatch(frames[0].name))


def receives(frames: Sequence[Frame]) -> bool:
    """Whether the innermost function waits for data from a socket."""
    return bool(frames) and not frames[0].own and bool(_RECEIVES.fullmatch(frames[0].name))


def reads(frames: Sequence[Frame]) -> bool:
    """Whether the innermost function reads from a descriptor, which may be a socket."""
    return bool(frames) and not frames[0].own and bool(_READS.fullmatch(frames[0].name))


def serves(recording: Recording) -> bool:
    """Whether the program ran before the recording, so that it counts as a server."""
    return bool(recording.tier.get("late") or recording.tier.get("attached"))


def other_reason(recording: Recording, thing: int, activity: str, called: Sequence[Frame]) -> str:
    """The other reason that a wait for input may have, in words; empty if there is none."""
    polls = activity == POLL
    if serves(recording):
        return MAY_BE if reads(called) and not polls else ""
    sockets = {each.thing for each in recording.files if each.path.startswith("socket:")}
    waits = polls or receives(called) or thing in sockets
    return INSIDE if waits and len(sockets) > 1 else ""


def requests_apart(
    causes: Sequence[Cause], recording: Recording
) -> tuple[list[Cause], list[Cause]]:
    """The causes, and apart from them the waits for requests of a program that serves."""
    if not serves(recording):
        return list(causes), []
    waits = [each for each in causes if each.case == POLL]
    for each in waits:
        each.doubt(MAY_BE)
    return [each for each in causes if each.case != POLL], waits


def idle_words(waits: Sequence[Cause], total_ns: float) -> str:
    """The share of the time spent waiting for requests, in words; empty for little."""
    share = sum(each.ns for each in waits) / max(1.0, total_ns)
    if share < LEAST:
        return ""
    return (
        "Nothing of the program costs more than a few per cent. Its threads waited for requests "
        f"for {100 * share:.0f} % of their time."
    )
