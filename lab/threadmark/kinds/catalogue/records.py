"""The catalogue as plain values for JSON. Unknown values are null."""

from __future__ import annotations

from typing import Any

from threadmark.kinds.catalogue.judgement import Catalogue, Entry
from threadmark.kinds.catalogue.scaling import Calibration
from threadmark.present import plain
from threadmark.present.summary import short, verdict_summary


def catalogue_record(found: Catalogue) -> dict[str, Any]:
    """Whether the run is valid, its calibration by platform, and a verdict for every way."""
    return {
        "valid": not found.invalid,
        "threads": found.threads,
        "calibrations": [_calibration_record(each) for each in found.calibrations],
        "verdicts": [entry_record(each) for each in found.entries],
    }


def entry_record(entry: Entry) -> dict[str, Any]:
    """A verdict with its basis. `gain_over` names the base of the gains."""
    known = {
        "library": entry.library,
        "operation": entry.judged.facts.get("operation", ""),
        "meaning": entry.way.get("meaning", ""),
        "remedy": entry.remedy,
        "use": entry.way.get("use", ""),
        "one_ns": entry.one_ns,
        "per_second": {str(p): rate for p, rate in entry.rates.items()},
        "fairness": entry.fairness,
        "gain_over": entry.base,
        "gain_one": entry.gain_one,
        "gain_many": entry.gain_many,
    }
    record: dict[str, Any] = plain.judged_record(entry.judged) | plain.finite(known)
    for name in (
        "base",
        "node_speedup",
        "overhead_ns_per_task",
        "steady_speedup",
    ):  # of runs with serial times
        del record[name]
    return record


def summary(entry: Entry) -> dict[str, Any]:
    """The fields of an entry that a document may publish."""
    known = {
        "remedy": entry.remedy,
        "one_ns": entry.one_ns,
        "gain_one": entry.gain_one,
        "gain_many": entry.gain_many,
    }
    fields = {name: short(value) for name, value in known.items() if value is not None}
    return verdict_summary(entry.judged) | fields


def _calibration_record(each: Calibration) -> dict[str, Any]:
    return {
        "platform": each.platform,
        "threads": each.threads,
        "arithmetic": each.free,
        "shared_atomic": each.bound,
        "core_speed": each.given,
        "valid": not each.why,
        "why": each.why,
    }
