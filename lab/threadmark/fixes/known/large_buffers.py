"""Buffers of 1 MiB for files of stdio."""

from __future__ import annotations

from threadmark.fixes.fix import Fix
from threadmark.fixes.preloading import own_library

FIX = Fix(
    name="large-buffers",
    kind="stdio",
    what="buffers of 1 MiB for stdio",
    helps=("io", "stdio"),
    risk=("Output appears later, and is lost if the program crashes."),
    setting=own_library("large_buffers"),
)
