"""The fixes that a program can have, with a build if they need one, and the lines that keep
each."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from threadmark.fixes import choosing
from threadmark.fixes.fix import NO_FLAGS, Candidate, Setting
from threadmark.fixes.target import target_of
from threadmark.kinds.trials.building import Builder, BuildError
from threadmark.model.errors import LabError
from threadmark.model.workload import Workload
from threadmark.present.wording import capital


class Menu:
    """The menu of a try. `building` gets the name of each build. `base` is the setting of the
    program as it is."""

    def __init__(
        self, workload: Workload, environment: Mapping[str, str], building: Callable[[str], None]
    ) -> None:
        self.base = Setting()
        self._workload = workload
        self._environment = environment
        self._building = building
        self._builder: Builder | None = None

    def build_by(self, builder: Builder) -> None:
        """Build the program as it is too, without more flags, so that builds differ only in flags.
        LabError if it cannot be built."""
        self._builder = builder
        self._building("the program as it is")
        try:
            self.base = Setting(program=str(builder.build(NO_FLAGS)))
        except BuildError as why:
            raise LabError(f"{capital(str(why))}; correct --build first.") from why

    def candidates(self, only: Iterable[str]) -> tuple[list[Candidate], dict[str, str]]:
        """The fixes to try, and the reasons against the others. LabError if there is none."""
        most = max(self._workload.counts)
        program = self.base.program or self._workload.words[0]
        target = target_of(program, self._environment, most or None)
        target = replace(target, builds=self._builder is not None)
        applicable, left_out = choosing.applicable(target, only)
        found = []
        for each in applicable:
            try:
                found.append(self.built(each))
            except BuildError as why:
                left_out[each.name] = str(why)
        if not found:
            why_not = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
            raise LabError(f"No fix can be tried here ({why_not}).")
        return found, left_out

    def built(self, candidate: Candidate) -> Candidate:
        """The candidate with its build, if it needs one. BuildError if there can be none."""
        setting = candidate.setting
        if setting.flags == NO_FLAGS:
            return candidate
        assert self._builder
        self._building(candidate.name)
        program = str(self._builder.build(setting.flags))
        return replace(candidate, setting=replace(setting, program=program))

    def record(self, candidate: Candidate) -> dict[str, Any]:
        """The record of a candidate in the store. Its lines name the user's program, not a build of
        a try."""
        most = max(self._workload.counts)
        setting = candidate.setting
        flags = setting.flags
        if setting.threads:
            setting = setting | Setting(self._workload.variables(setting.threads))
        command = self._workload.command(setting.threads or most)
        named = {**self._environment, **self._workload.variables(most)}
        line = setting.line(command, named)
        return {
            "name": candidate.name,
            "kind": candidate.kind,
            "what": candidate.what,
            "risk": candidate.risk,
            "parts": list(candidate.parts),
            "keep": {
                "build": self._builder.line(flags) if self._builder and flags != NO_FLAGS else "",
                "environment": setting.changes(named),
                "command": "" if line == shlex.join(self._workload.command(most)) else line,
                "dockerfile": setting.dockerfile(command, named),
            },
        }
