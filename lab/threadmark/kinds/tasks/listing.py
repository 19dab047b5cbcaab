"""The output of `list` for the programs of `run` and their backends."""

from __future__ import annotations

from collections.abc import Iterable

from threadmark.model.executable import CONTENTION, Absence, Executable


def programs(executables: Iterable[Executable]) -> list[dict[str, object]]:
    """Each program once, with its arguments."""
    found: dict[str, dict[str, object]] = {}
    for each in executables:
        if each.contends:
            continue
        arguments = [
            f"{name}={p['sizes']['quick']} ({p['min']}..{p['max']})"
            for name, p in each.parameters.items()
        ]
        if each.description.get("input"):
            arguments.append("input=FILE")
        if each.forms:
            arguments.append(f"form={'|'.join(each.forms)}")
        about = each.description.get("summary", "")
        known = {"program": each.program, "what": about, "arguments": arguments}
        found.setdefault(each.program, known)
    return list(found.values())


def backends(
    executables: Iterable[Executable], absent: Iterable[Absence]
) -> list[dict[str, object]]:
    """Each backend of each platform, with its variants, or the reason for its absence."""
    variants: dict[tuple[str, str], dict[str, None]] = {}
    states: dict[tuple[str, str], object] = {}
    for each in executables:
        if not each.contends:
            key = each.backend, each.platform
            variants.setdefault(key, {}).update(dict.fromkeys(each.variants))
            states.setdefault(key, each.fault or each.description.get("backend_version", ""))
    for absence in absent:
        if absence.backend != CONTENTION:
            key = absence.backend, absence.platform
            variants[key], states[key] = {}, f"unavailable: {absence.reason}"
    return [
        {
            "backend": key[0],
            "platform": key[1],
            "variants": list(variants[key]),
            "state": states[key],
        }
        for key in sorted(variants)
    ]
