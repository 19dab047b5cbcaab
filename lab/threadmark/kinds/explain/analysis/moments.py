"""Samples of several threads at one moment."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator

from threadmark.kinds.explain.analysis.recording import Sample


class Moments:
    """Samples by thread and time."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        found: dict[int, list[Sample]] = defaultdict(list)
        for sample in sorted(samples, key=lambda each: each.at_ns):
            found[sample.tid].append(sample)
        self._by_thread = {tid: ([s.at_ns for s in each], each) for tid, each in found.items()}

    def others(self, sample: Sample, within_ns: float) -> Iterator[Sample]:
        """Samples of other threads less than `within_ns` away from `sample`, at most one of each
        thread."""
        for tid, (times, samples) in self._by_thread.items():
            at = bisect_left(times, sample.at_ns)
            for each in samples[max(0, at - 1) : at + 1] if tid != sample.tid else ():
                if abs(each.at_ns - sample.at_ns) < within_ns:
                    yield each
                    break
