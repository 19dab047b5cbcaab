"""Finds the command, runs it, and turns each foreseen problem into a sentence and a status."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
import signal
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from types import FrameType
from typing import TYPE_CHECKING

from threadmark import commands
from threadmark.kinds import registry
from threadmark.model.errors import LabError
from threadmark.model.names import closest
from threadmark.model.places import INSTALLED

if TYPE_CHECKING:
    import cyclopts

INTERRUPTED = 130  # what a shell reports for a command ended by Ctrl-C
TERMINATED = 143
_OF_CHECKOUT = ("check", "docs", "test")  # a wheel has neither tests nor documents
_OF_ALL = ("completion",)  # commands about all commands


class Terminated(BaseException):
    """SIGTERM, or the terminal was closed. It is raised so that every `with` and `finally` cleans
    up as for Ctrl-C."""


def main(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit status."""
    signal.signal(signal.SIGTERM, _terminated)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
        signal.signal(signal.SIGHUP, _terminated)
    try:
        return _dispatch(list(arguments))
    except LabError as problem:
        return _say(str(problem), problem.exit_code)
    except KeyboardInterrupt:
        return _say(f"{_named(arguments)} was interrupted{_advice(arguments)}", INTERRUPTED)
    except Terminated:
        return _say(f"{_named(arguments)} was terminated{_advice(arguments)}", TERMINATED)


def command_names() -> dict[str, str]:
    """Command -> module: every file in `commands/`, and the command of each kind of run."""
    files = sorted(each.name for each in pkgutil.iter_modules(commands.__path__))
    found = {name.rstrip("_").replace("_", "-"): f"threadmark.commands.{name}" for name in files}
    if INSTALLED:
        found = {name: module for name, module in found.items() if name not in _OF_CHECKOUT}
    return found | registry.commands()


def _dispatch(arguments: list[str]) -> int:
    import cyclopts

    modules = command_names()
    first = arguments[0] if arguments else "--help"
    if first in modules and first not in _OF_ALL:
        wanted = [
            modules[first]
        ]  # only its own imports: a start must not pay for plots it does not draw
    elif first in modules or first.startswith("-"):
        wanted = list(modules.values())
    else:
        raise LabError(
            f"There is no command '{first}'{closest(first, modules)}; see ./threadmark --help."
        )
    _check_values(arguments)
    app = application(wanted)
    try:
        result = app(
            arguments,
            exit_on_error=False,
            print_error=False,
            result_action="return_value",
        )
    except cyclopts.CycloptsError as error:
        sentence = " ".join(str(error).split()).rstrip(".?")
        if isinstance(error, cyclopts.UnusedCliTokensError):
            sentence = f"'{' '.join(error.unused_tokens or ())}' is not understood here"
        if isinstance(error, cyclopts.MissingArgumentError):
            sentence = _negative(arguments) or sentence
        raise LabError(f"{sentence}; see ./threadmark {first} --help.") from None
    return result if isinstance(result, int) else 0


def _check_values(arguments: Sequence[str]) -> None:
    """LabError for an option with an empty value, such as that of an unset variable."""
    for word, following in pairwise([*arguments, "--"]):
        if word == "--":  # the rest belongs to a program
            return
        if word.startswith("--") and (following == "" or re.fullmatch(r"--[\w-]+=", word)):
            option = word.rstrip("=")
            raise LabError(f"{option} has an empty value; give one or leave {option} out.")


def _negative(arguments: Sequence[str]) -> str:
    """The sentence about an option whose negative value looks like an option."""
    for word, following in pairwise(arguments):
        if word.startswith("--") and re.match(r"-[\d.]", following):
            return f"{word} takes no negative value, so not {following}"
    return ""


def application(modules: Iterable[str]) -> cyclopts.App:
    """The command line with the commands that these modules register."""
    import cyclopts

    app = cyclopts.App(
        name="threadmark",
        help="I added threads. Why is it not faster, and what makes it faster?",
        version=_version,
        help_format="markdown",
        suppress_keyboard_interrupt=False,  # main() answers Ctrl-C
    )
    for name in modules:
        importlib.import_module(name).command(app)
    return app


def _version() -> str:
    from threadmark.machine.version import version

    return f"threadmark {version()}"


def _named(arguments: Sequence[str]) -> str:
    """The name of the command in a sentence: only its first word, because the rest may be long."""
    return f"`{shlex.join(['./threadmark', *arguments[:1]])}`"


def _advice(arguments: Sequence[str]) -> str:
    """The end of the sentence about an interrupted command: the way to resume a run, if there is
    one."""
    command = next(iter(arguments), "")
    session = sys.modules.get("threadmark.kinds.session")  # half loaded, perhaps
    begun = getattr(getattr(session, "Session", None), "begun", False)
    if not begun or not registry.is_resumable(command) or "--dry-run" in arguments:
        return "."
    words = ["./threadmark", command, "--resume"]
    for word, following in pairwise([*arguments, ""]):
        if word == "--store":
            words += [word, following]
        elif word.startswith("--store="):
            words.append(word)
    return f"; `{shlex.join(words)}` goes on with an unfinished run."


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Terminated


def _say(sentence: str, status: int) -> int:
    if INSTALLED:  # then the command is on the path
        sentence = sentence.replace("./threadmark", "threadmark")
    print(f"threadmark: {sentence}", file=sys.stderr)
    return status
