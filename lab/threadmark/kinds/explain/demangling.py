"""Names of functions as C++ writes them."""

from __future__ import annotations

import re
from functools import lru_cache

_RUST = re.compile(r"(_?_(?:R[A-Z]\w*|ZN.*17h[0-9a-f]{16}E))(?:\.\w+)*")


@lru_cache(maxsize=1 << 16)
def demangled(name: str) -> str:
    """The name in the form of C++; other names unchanged."""
    import cxxfilt

    if rust := _RUST.fullmatch(name):
        return _of_rust(rust[1])
    if not name.startswith(("_Z", "__Z")):
        return name
    try:
        found = str(cxxfilt.demangle(name))
    except (cxxfilt.Error, cxxfilt.LibraryNotFound, OSError):
        found = name
    return found if found != name else _prefix(name)


def _prefix(name: str) -> str:
    """The part before the template arguments of a name that the demangler does not know, such as
    clang's names with constraints."""
    begin = re.match(r"_?_ZN[rVK]*(St)?", name)
    if begin is None:
        return name
    parts: list[str] = []
    place = begin.end()
    while length := re.match(r"\d+", name[place:]):
        place += length.end() + int(length[0])
        parts.append(name[place - int(length[0]) : place])
    if parts and re.match(r"[CD]\d", name[place:]):
        parts.append(("~" if name[place] == "D" else "") + parts[-1])
    return "::".join([*(["std"] if begin[1] else []), *parts]) if parts else name


def _of_rust(name: str) -> str:
    """The path of a Rust function, with arguments as C++ writes them."""
    import demangle

    return _path(re.sub(r"::<(?!impl )", "<", demangle.demangle(name)))


def _path(text: str) -> str:
    """`T::f` for `<T>::f` and for `<T as Trait>::f` of Rust."""
    depth = type_end = 0
    for place, char in enumerate(text if text.startswith("<") else ""):
        depth += (char == "<") - (char == ">" and text[place - 1] != "-")
        if depth == 0:
            kind = text[1 : type_end or place].lstrip("&*").removeprefix("mut ")
            return _path(kind) + text[place + 1 :]
        if depth == 1 and not type_end and text.startswith(" as ", place):
            type_end = place
    return text
