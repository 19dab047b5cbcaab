"""The types that a thread can wait for: types of the standard library, of POSIX, and classes of a
program with names of locks."""

from __future__ import annotations

import re
from collections.abc import Sequence

_STD = r"std::(?:\w+::)*"
_TYPES = {
    "mutex": _STD + r"(recursive_|timed_|recursive_timed_)?mutex|pthread_mutex_t|mtx_t",
    "rwlock": _STD + r"shared_(timed_)?mutex|pthread_rwlock_t",
    "condition": _STD + r"condition_variable(_any)?|pthread_cond_t|cnd_t",
    "barrier": _STD + r"(barrier|latch)|pthread_barrier_t",
    "semaphore": _STD + r"(counting|binary)_semaphore|sem_t",
    "once": _STD + r"once_flag|pthread_once_t",
    "future": _STD + r"((shared_)?future|promise|packaged_task)",
    "join": _STD + r"j?thread|pthread_t",
    "atomic": _STD + r"atomic(_\w+)?",
    "spin": r"pthread_spinlock_t|" + _STD + r"atomic(_\w+)?",
}
_NUMBERS = re.compile(r"((un)?signed|long|short|char|int|bool|float|double|__int128| )+")
_WORDS = {
    "mutex": "mutex lock spinlock rwlock futex",
    "rwlock": "rwlock lock mutex",
    "condition": "condition cond condvar event signal",
    "barrier": "barrier latch gate",
    "semaphore": "semaphore sem",
    "once": "once",
    "spin": "lock spinlock mutex spin",
}
_ANY = ("mutex", "rwlock", "condition", "barrier", "semaphore", "once", "future", "atomic")
_ACTIVITIES = {
    "relock": "mutex",
    "own_lock": "futex",
    "lock": "mutex",
    "read_lock": "rwlock",
    "write_lock": "rwlock",
    "spin_lock": "spin",
    "yield": "spin",
    "timed_condition": "condition",
    "event": "futex",
    "false_sharing": "atomic",
}
# The library's waiting function tells more than its system call.
_CALLS = {
    "mutex": _STD + r"(recursive_|timed_|recursive_timed_)?mutex::.*|_*pthread_mutex_\w+",
    "rwlock": _STD + r"(__)?shared_(timed_)?mutex(_\w+)?::.*|_*pthread_rwlock_\w+",
    "condition": _STD + r"condition_variable(_any)?::.*|_*pthread_cond_\w+",
    "barrier": _STD + r"(barrier|latch)::.*|_*pthread_barrier_\w+",
    "semaphore": _STD + r"counting_semaphore::.*|_*sem_(timed|clock)?wait\w*",
    "once": _STD + r"call_once|call_once|_*pthread_once\w*",
    "future": _STD + r"(__basic_future|shared_future|future|promise)::.*",
    "join": _STD + r"j?thread::(join|~jthread)|_*pthread_\w*join\w*",
    "atomic": _STD + r"(__atomic_base|atomic|atomic_flag)::.*",
    "spin": r"_*pthread_spin_\w+",
}
# Kinds whose wait address is not in the object: a pool has it.
APART = frozenset(["barrier", "semaphore", "atomic", "future", "futex"])
_LIKE_LOCKS = frozenset([
    "mutex", "lock", "spinlock", "rwlock", "futex", "spin", "semaphore", "sem", "barrier", "latch",
    "condvar", "guard", "locker", "locked", "guarded", "synchronized",
])  # fmt: skip
_SPLIT = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_TAILS = frozenset(["t", "type", "impl", "base"])
HOLDERS = re.compile(_STD + r"(unique_lock|shared_lock|lock_guard|scoped_lock)")
# The template arguments of these types are no members of theirs.
WITHOUT_OBJECTS = re.compile(
    _STD + r"(allocator|default_delete|hash|less|greater|equal_to|char_traits|function|"
    r"unique_lock|shared_lock|lock_guard|scoped_lock|\w*iterator\w*|ratio|chrono::.*)"
)


def kind_of(activity: str, called: Sequence[str]) -> str:
    """The kind of thing that a thread waits for. `called`: the functions of libraries that it waits
    in, the innermost first. Empty for no lock, unless a call of a library shows one."""
    kind = _ACTIVITIES.get(activity, activity)
    if activity == "relock":
        return kind
    for name in called:
        kind = next((k for k, text in _CALLS.items() if re.fullmatch(text, name)), kind)
    return kind if kind in _TYPES or kind == "futex" else ""


class Wanted:
    """The wanted types."""

    def __init__(self, kind: str) -> None:
        kinds = [kind] if kind in _TYPES else list(_ANY)
        self._pattern = re.compile("|".join(_TYPES[each] for each in kinds))
        self._words = frozenset(" ".join(_WORDS.get(each, "") for each in kinds).split())

    def standard(self, names: tuple[str, ...]) -> bool:
        """Whether a type with these names is a wanted type of a library."""
        return any(self._pattern.fullmatch(each) for each in names)

    def own(self, names: tuple[str, ...]) -> bool:
        """The same, or a class of the program with such a name."""
        return self.standard(names) or any(_last_word(each) in self._words for each in names)


def is_of_a_library(names: tuple[str, ...]) -> bool:
    """Whether a type with these names is a lock, condition or similar type of a library."""
    return any(re.fullmatch(text, each) for text in _TYPES.values() for each in names)


def is_number(names: tuple[str, ...]) -> bool:
    """Whether a type with these names is a plain number."""
    return any(_NUMBERS.fullmatch(each) for each in names)


def is_like_a_lock(type_name: str) -> bool:
    """Whether a class is a lock, or holds one for a time."""
    return _last_word(type_name) in _LIKE_LOCKS


def _last_word(name: str) -> str:
    words = [each.lower() for each in _SPLIT.findall(name.rpartition("::")[2])]
    while len(words) > 1 and words[-1] in _TAILS:
        words.pop()
    return words[-1] if words and not name.startswith("std::") else ""
