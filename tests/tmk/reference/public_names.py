"""The public names of tmk, read from its headers: the names that namespace tmk declares outside of
detail, and the names that its classes inherit from there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_NOT_NAMES = {"requires", "noexcept", "decltype", "sizeof", "alignas", "explicit", "static_assert"}


def names_of(folder: Path) -> dict[str, set[str]]:
    """Name -> public members, of all headers of a folder."""
    found: dict[str, set[str]] = {}
    hidden: dict[str, set[str]] = {}
    bases: dict[str, str] = {}
    for path in sorted(folder.rglob("*.hpp")):
        text = path.read_text(encoding="utf-8")
        if path.parent == folder:
            for name in re.findall(r"^#define (TMK_\w+) ", text, re.MULTILINE):
                found.setdefault(name, set())
        for into, namespace in ((found, "tmk"), (hidden, "tmk::detail")):
            for name, member in declared(text, namespace):
                into.setdefault(name, set()).update({member} if member else set())
        inherits = r"\bclass (\w+)(?:<[^;{}]*>)? : public detail::(\w+)"
        bases |= dict(re.findall(inherits, _plain(text)))
    for name, base in bases.items():
        found[name] |= hidden[base]
    return found


def declared(text: str, namespace: str = "tmk") -> Iterator[tuple[str, str]]:
    """(name, ""), or (class, public member) of a namespace, in the order of a header."""
    scopes: list[tuple[str, str]] = []  # (sort, name) of each open brace
    public = True  # of the class of namespace tmk that is open
    head, depth = "", 0  # of parentheses: braces in them are values
    for token in re.findall(r"\b(?:public|private|protected)\s*:(?!:)|[{};]|[^{};]", _plain(text)):
        inside = "::".join(name for sort, name in scopes if sort == "namespace") == namespace
        sorts = [sort for sort, _ in scopes if sort != "namespace"]
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth > 0 or token == ")":
            head += token
        elif re.match(r"\w+\s*:$", token):
            if sorts == ["class"]:
                public = token.startswith("public")
            head = ""
        elif token in "{;":
            if inside and not sorts:
                yield from ((name, "") for name in _names(head))
            elif inside and sorts == ["class"] and public:
                name = scopes[-1][1]
                members = [each for each in _names(head) if each != name and "friend" not in head]
                yield from ((name, each) for each in members)
            if token == "{":
                scopes.append(_scope(head))
                if not sorts and scopes[-1][0] == "class":
                    public = re.search(r"\bclass\b", _stripped(head)) is None
            head = ""
        elif token == "}":
            if scopes:
                scopes.pop()
            head = ""
        else:
            head += token


def _plain(text: str) -> str:
    """The text without comments, literals and lines of the preprocessor."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*#(?:.*\\\n)*.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"'(?:\\.|[^'\\\n])'|\"(?:\\.|[^\"\\\n])*\"", "0", text)


def _stripped(head: str) -> str:
    """A declaration without attributes, and without the contents of <> and ()."""
    head = re.sub(r"\[\[.*?\]\]", "", head, flags=re.DOTALL)
    before = None
    while before != head:
        before = head
        head = re.sub(r"(?<!<)<[^<>()]*>(?!>)", "", head)
        head = re.sub(r"\(([^()]*)\)", lambda m: "\0" if m else "", head)
    return head


def _scope(head: str) -> tuple[str, str]:
    found = re.search(r"\bnamespace\s+([\w:]+)\s*$", head)
    if found:
        return "namespace", found[1]
    found = re.search(
        r"^\s*(?:template)?\s*(?:requires.*)?\b(class|struct)\s+(\w+)", _stripped(head)
    )
    return ("class", found[2]) if found else ("block", "")


def _names(head: str) -> list[str]:
    """The names in a declaration; none for deduction guides, specialisations, operators."""
    plain = _stripped(head).strip()
    if "->" in plain or "operator" in plain or not plain:
        return []
    if found := re.search(r"\busing\s+std::(\w+)\s*$", plain):
        return [found[1]]
    if found := re.search(r"\busing\s+(\w+)\s*=", plain):
        return [found[1]]
    if found := re.search(r"\b(?:class|struct|enum class|enum)\s+(\w+)", plain):
        return [found[1]]
    if re.match(r"(?:\w+ )*constexpr\b.*=", plain) and "\0" not in plain.partition("=")[0]:
        return re.findall(r"(\w+)\s*=", plain)
    if found := re.match(r"inline constexpr [\w:]+ (\w+)$", plain):
        return [found[1]]
    before, is_set, _ = plain.partition("=")
    if is_set and "\0" not in before:
        return re.findall(r"(\w+)\s*$", before)
    return _functions(plain)


def _functions(plain: str) -> list[str]:
    called = [
        each for each in re.findall(r"(?<![:~\w])(~?\w+)\s*\0", plain) if each not in _NOT_NAMES
    ]
    return [called[0]] if called and not called[0].startswith("~") else []
