"""Short names of functions, and stacks without the wrappers of the lock itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_OPERATOR = re.compile(r"operator\s*(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[-+*/%^&|~!=<>,]{1,3})")
_LAMBDA = re.compile(r"\{lambda\(.*?\)(#\d+)\}|\{unnamed type(#\d+)\}")
_CLONE = re.compile(r"\s*\[clone [^]]*\]|\.(?:isra|constprop|part|cold|lto_priv|llvm)\b[.\w]*")
_CLOCK = re.compile(r"vdso|clock_gettime")
_VERSION = re.compile(r"@@?\w[\w.]*$|\[abi:\w+\]")

AGENT = "libthreadmark-agent"  # how the name of the agent's file begins


@dataclass(frozen=True)
class Frame:
    """One function of a stack; `where` is file:line or module+offset."""

    name: str
    where: str = ""
    module: str = ""  # the file's name without its folder
    own: bool = True  # of the program, not of a library of the system

    def __str__(self) -> str:
        return self.name


def plain_name(demangled: str) -> str:
    """A function without arguments, template arguments, return type and marks of the compiler."""
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return f"\0{len(kept) - 1}\0"

    text = _VERSION.sub("", _CLONE.sub("", demangled.strip())).removeprefix("__GI_")
    text = text.replace("(anonymous namespace)", keep("(anonymous namespace)"))
    text = _LAMBDA.sub(lambda m: keep("{lambda" + (m[1] or m[2] or "") + "}"), text)
    text = _OPERATOR.sub(lambda m: keep(f"operator{m[1]}"), text)
    text = _without_brackets(text)
    text = re.sub(r"\s+(const|volatile|noexcept|&&?)(?=\s|::|$)", "", text).strip()
    # The rest before a blank is the return type, except in a conversion: 'operator bool'.
    head, found, tail = text.rpartition("operator ")
    text = f"{head.split(' ')[-1]}{found}{tail}" if found else text.split(" ")[-1]
    for number, part in enumerate(kept):
        text = text.replace(f"\0{number}\0", part)
    return text.strip() or demangled.strip()


_MARK = 5  # the group with the beginning of the lambda's name
_NUMBERED = re.compile(rf"{_LAMBDA.pattern}|\$_\d+")
_CLOSURE = re.compile(
    r"(\[abi:\w+\])?(\([^()]*(\([^()]*\)[^()]*)*\))?( const)?::(\{lambda|'lambda|\$_\d)"
)


def closure_in(demangled: str) -> tuple[str, str]:
    """The function whose lambda is an argument of this template, and the lambda: the function may
    call the template, which is then inlined. Empty if there is none."""
    found = _CLOSURE.search(demangled)
    if not found:
        return "", ""
    depth = 0
    begin = found.start()
    while begin > 0:
        char = demangled[begin - 1]
        depth += (char in ">)") - (char in "<(")
        if depth < 0 or (depth == 0 and char in ", "):
            break
        begin -= 1
    known = _NUMBERED.match(demangled, found.start(_MARK))
    return plain_name(demangled[begin : found.start()]), plain_name(
        known[0]
    ) if known else "{lambda}"


def _without_brackets(text: str) -> str:
    """The text without (...) and <...>, as far as they match."""
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


_TAKES = re.compile(
    r"(?i)(try_?)?((read|write|shared|exclusive)_?)?(lock|acquire)"
    r"(_?(read|write|shared|exclusive|slow|contended|path|impl))*"
)
_GIVES_BACK = re.compile(r"(?i)(un_?lock|release)(_?(read|write|shared|exclusive))*")
_LIBRARY_LOCK = re.compile(r"_*(pthread|g|uv)_(mutex|rec_mutex|rwlock|spin)_\w*lock(_slowpath)?")
_GUARD = re.compile(r"~?(lock_guard|unique_lock|scoped_lock|shared_lock)")


def takes_a_lock(function: str) -> bool:
    """Whether a function takes a lock according to its name."""
    last = function.rpartition("::")[2]
    return any(each.fullmatch(last) for each in (_TAKES, _LIBRARY_LOCK, _GUARD))


def gives_back_a_lock(function: str) -> bool:
    """Whether a function gives a lock back according to its name."""
    return bool(_GIVES_BACK.fullmatch(function.rpartition("::")[2]))


def is_guard(function: str) -> bool:
    """Whether a function makes or ends an object that holds a lock for a time."""
    return bool(_GUARD.fullmatch(function.rpartition("::")[2]))


_TEMPLATES = (
    *("std::", "__gnu_cxx::", "__gthr", "operator ", "tbb::"),
    *("absl::", "asio::", "boost::", "folly::"),
)
_GLUE = re.compile(
    r"__invoke(_impl)?|std::(__\w+::)?(__invoke\w*|thread::_Invoker::.*|thread::_State_impl::.*|"
    r"_Function_handler::.*|function::operator\(\)|__function::.*|__thread_proxy|"
    r"__thread_execute|__async_func(::.*)?|invoke|__apply_impl|apply)|"
    r"tbb::detail::d\d+::(\w+::)*execute"
)


def is_of_library(frame: Frame) -> bool:
    """Whether the frame is a library's function, or a library's template in the program."""
    return not frame.own or is_template(frame)


def is_template(frame: Frame) -> bool:
    """Whether the frame is a function of a library's header."""
    return frame.name.startswith(_TEMPLATES)


# The beginnings of the file names of libraries that make and run threads, lock, wait and allocate
# for others.
_BENEATH = (
    *("libc.", "libc-", "libc+", "ld-", "libm.", "libm-", "libpthread", "libdl", "librt", "libnss"),
    *("libresolv", "libstdc++", "libunwind", "libgcc_s", "libatomic", "libthreadmark"),
    *("libgomp", "libomp", "libiomp", "libtbb", "libboost_", "libhpx", "libdispatch"),
    *("libjemalloc", "libmimalloc", "libtcmalloc", "libhoard", "librpmalloc", "libsnmalloc"),
    *("libasan", "libtsan", "libubsan", "libglib-", "libgthread-", "libQt5Core", "libQt6Core"),
    *("libuv.", "libapr-", "libnspr", "libabsl_", "libfolly"),
)


def is_beneath(frame: Frame) -> bool:
    """Whether the frame is of a library that works for its caller: a lock, a wait, a task or
    memory, wherever the file lies. Another library of the system does work of its own, as the
    program does. In a static program only libraries that are known to be beneath count."""
    if ".so" in frame.module:
        return frame.module.startswith(_BENEATH)
    return not frame.own


def with_libraries_of_thread(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """The frames. In a thread that no function of the program began, the libraries' own work counts
    as the program's. Functions that the loader calls are no thread's work."""
    begun = (each.own and not is_beneath(each) for each in frames)
    if any(begun) or any(each.module.startswith("ld-") for each in frames):
        return tuple(frames)
    return tuple(each if is_beneath(each) else replace(each, own=True) for each in frames)


def is_with_line(frame: Frame) -> bool:
    """Whether debug information has the place of the frame, and so the functions that are inlined
    there."""
    return bool(_LINE.search(frame.where))


def has_name(frame: Frame) -> bool:
    """Whether the frame has more than its place in a module."""
    return "+0x" not in frame.name


def is_glue(frame: Frame) -> bool:
    """Whether the frame is a function of the C++ library that only calls a function of the
    program."""
    return bool(_GLUE.fullmatch(frame.name))


_LINE = re.compile(r":\d+$")
_ALIAS = re.compile(r"_*(libc_|IO_)?_*")


def without_aliases(frames: Sequence[Frame]) -> list[Frame]:
    """The frames without the C library's other names of one function, such as __libc_read within
    read."""
    return [
        frame
        for frame, outer in zip(frames, [*frames[1:], None], strict=False)
        if outer is None
        or frame.own
        or outer.own
        or _ALIAS.sub("", frame.name, count=1) != _ALIAS.sub("", outer.name, count=1)
    ]


def without_clock_of_agent(frames: Sequence[Frame]) -> Sequence[Frame]:
    """The frames without the innermost functions in which the agent reads the clock."""
    read = next((i for i, frame in enumerate(frames) if not _CLOCK.search(frame.name)), 0)
    return frames[read:] if read and frames[read].module.startswith(AGENT) else frames


def without_wrappers(
    frames: Sequence[Frame], wrappers: Sequence[re.Pattern[str]]
) -> tuple[Frame, ...]:
    """The frames from the first that is neither a wrapper of a lock nor the agent's own."""
    own = without_clock_of_agent(frames)
    for number, frame in enumerate(own):
        if frame.module.startswith(AGENT):
            continue
        if any(wrapper.fullmatch(frame.name) for wrapper in wrappers):
            continue
        return tuple(own[number:])
    return ()
