"""Names of functions as people say them, and stacks without the wrappers of the lock itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_OPERATOR = re.compile(r"operator\s*(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[-+*/%^&|~!=<>,]{1,3})")
_LAMBDA = re.compile(r"\{lambda\(.*?\)(#\d+)\}|\{unnamed type(#\d+)\}")
_CLONE = re.compile(r"\s*\[clone [^]]*\]|\.(?:isra|constprop|part|cold|lto_priv|llvm)\b[.\w]*")
_VERSION = re.compile(r"@@?\w[\w.]*$|\[abi:\w+\]")


@dataclass(frozen=True)
class Frame:
    """One function of a stack; `where` is file:line or module+offset."""

    name: str
    where: str = ""
    module: str = ""  # the file's name without its folder
    own: bool = True  # of the program, not of a library that it did not build

    def __str__(self) -> str:
        return self.name


def plain_name(demangled: str) -> str:
    """A function without arguments, template arguments, return type and marks of the compiler."""
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return f"\0{len(kept) - 1}\0"

    text = _VERSION.sub("", _CLONE.sub("", demangled.strip()))
    text = text.replace("(anonymous namespace)", keep("(anonymous namespace)"))
    text = _LAMBDA.sub(lambda m: keep("{lambda" + (m[1] or m[2] or "") + "}"), text)
    text = _OPERATOR.sub(lambda m: keep(f"operator{m[1]}"), text)
    text = _without_brackets(text)
    text = re.sub(r"\s+(const|volatile|noexcept|&&?)(?=\s|::|$)", "", text).strip()
    # What is left before a blank is the return type, but for a conversion: 'operator bool'.
    head, found, tail = text.rpartition("operator ")
    text = f"{head.split(' ')[-1]}{found}{tail}" if found else text.split(" ")[-1]
    for number, part in enumerate(kept):
        text = text.replace(f"\0{number}\0", part)
    return text.strip() or demangled.strip()


def _without_brackets(text: str) -> str:
    """The text without (...) and <...>; where they do not match, as far as they do."""
    text = text.replace("->", "  ")
    inside: list[str] = []
    result = []
    for char in text:
        angles = not inside or inside[-1] == "<"  # within (...) an angle compares numbers
        if char == "(" or (char == "<" and angles):
            inside.append(char)
        elif char == ")" or (char == ">" and angles):
            if not inside or inside.pop() != ("(" if char == ")" else "<"):
                return re.split(r"[(<]", text)[0]
        elif not inside:
            result.append(char)
    return "".join(result) if not inside else re.split(r"[(<]", text)[0]


def without_wrappers(
    frames: Sequence[Frame], wrappers: Sequence[re.Pattern[str]]
) -> tuple[Frame, ...]:
    """The frames from the first that is neither a wrapper of a lock nor the agent's own."""
    for number, frame in enumerate(frames):
        if frame.module.startswith("libthreadmark-agent"):
            continue
        if any(wrapper.fullmatch(frame.name) for wrapper in wrappers):
            continue
        return tuple(frames[number:])
    return ()
