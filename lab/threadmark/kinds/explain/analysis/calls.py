"""What a system call of x86-64 says of a thread that sleeps in it."""

from __future__ import annotations

_OF = {
    "io": (
        *range(4), 4, 5, 6, 7, 8, *range(17, 21), 22, 23, 40, *range(42, 51), 61, 72, 73,
        *range(74, 92), 217, 232, 247, *range(257, 272), 275, 276, 277, 278, 281, 285,
        *range(287, 289), 293, 295, 296, 299, 306, 307, 326, 327, 328, 332, 426, 437, 441,
    ),
    "kernel_memory": (9, 10, 11, 12, 25, 26, 27, 28, 149, 151, 237, 325),
    "futex": (202, 449, 454, 455),
    "sleep": (34, 35, 128, 130, 230),
    "starting": (56, 57, 58, 59, 435, 60, 231),
    "yield": (24,),
}  # fmt: skip
_BY_CALL = {call: what for what, calls in _OF.items() for call in calls}


def kind_of_call(call: int) -> str:
    """io, kernel_memory, futex, sleep, starting, yield, or nothing where it is not known."""
    return _BY_CALL.get(call, "")
