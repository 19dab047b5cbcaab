"""Runs of `gate`: whether a program still scales as well as it must."""

COMMAND = "gate"
