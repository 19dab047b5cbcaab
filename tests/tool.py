"""Loads a program of tools/, whose name has no ending, as a module of that name."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_TOOLS = Path(__file__).resolve().parents[1] / "tools"


def load(name: str) -> ModuleType:
    """The module, made anew."""
    loader = importlib.machinery.SourceFileLoader(name, str(_TOOLS / name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks its module up there
    loader.exec_module(module)
    return module
