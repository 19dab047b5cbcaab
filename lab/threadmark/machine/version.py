"""The version of Threadmark from pyproject.toml, and the commit of the checkout."""

from __future__ import annotations

import tomllib

from threadmark.machine import host
from threadmark.model.places import ROOT


def version() -> str:
    """'0.1.0 (0123456789ab)'; a '+' after the commit means that tracked files differ from it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    commit = host.commit()
    return f"{settings['project']['version']}{f' ({commit})' if commit else ''}"
