"""The memory that the places that grow with threads touch: words of one line, or addresses all
over."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations

from threadmark.kinds.explain.analysis.looks import looks
from threadmark.kinds.explain.analysis.meaning import Knowledge, Names
from threadmark.kinds.explain.analysis.per_unit import Place, Places
from threadmark.kinds.explain.analysis.recording import Recording, Sample
from threadmark.kinds.explain.analysis.spans import spans_of_one, stacks_within
from threadmark.kinds.explain.analysis.spots import (
    Spot,
    address_of,
    contended_bytes,
    operand_of,
    side_by_side,
)

_FEWEST = 5  # samples at a line for a finding
_PAIRS = 64  # of samples of two threads at one line: 4 would meet at one word by chance
_WRITTEN = 3  # of them with a word that is written
_MIXED = 0.2  # of the samples at other lines: with chance words, threads also meet at one word
_PART = 0.1  # of a function's samples lie at the lines that threads share
_MEMORY = 0.25  # of a function's samples stand for instructions that touch memory
_ALL_OVER = 0.5  # of these touch a line that no other sample touches
_LEAST_TOUCHED = 20
_PAGE = 4096
_SAME_PAGES = 0.1
_STRINGS = ("rep stos", "rep movs")
Touch = tuple[Sample, int, bool]  # address, and whether it is written


@dataclass(frozen=True)
class Use:
    """The reason for which a place grows. The category is empty if it is not known."""

    category: str
    name: str = ""
    where: str = ""
    certain: bool = False


class Sharing:
    """The uses of memory in the record of the run with most threads."""

    def __init__(self, recording: Recording, names: Names, knowledge: Knowledge) -> None:
        self.recording = recording
        self.places = Places(recording, names, knowledge)
        self._names = names
        self._knowledge = knowledge
        self._line = contended_bytes(recording)
        self._of_spots: dict[tuple[int, bool], Spot] = {}
        for spot in looks(recording, names, knowledge).spots:
            if spot.category != "false_sharing" or spot.certain:
                for kernel in (False, spot.category == "kernel_memory"):
                    self._of_spots |= {(stack, kernel): spot for stack in spot.stacks}
        self._text = cache(lambda module, address: names.instruction(module, address)[1])
        self._mixed: set[int] = set()  # lines of which threads use the same words
        self._samples: dict[Place, list[Sample]] = defaultdict(list)
        for sample in recording.samples:
            self._samples[self.places.at(sample.stack, kernel=sample.kernel)].append(sample)

    def use(self, place: Place) -> Use:
        """The use of memory by a place that grows."""
        samples = self._samples[place]
        spots = Counter[str]()
        known: dict[str, Spot] = {}
        for sample in samples:
            spot = self._of_spots.get((sample.stack, sample.kernel))
            if spot is not None:
                spots[spot.category] += 1
                known[spot.category] = spot
        if spots and spots.total() >= _PART * len(samples):
            spot = known[spots.most_common(1)[0][0]]
            return Use(spot.category, spot.name, spot.where, spot.certain)
        if place.sort:
            return Use("")
        touched = [t for sample in samples if (t := self._touch(sample))]
        shared = [spot for sample in samples if (spot := self._shared_by(sample))]
        if len(shared) >= max(_FEWEST, _PART * len(samples)):
            spot = shared[0]
            mixed = sum(touch[1] // self._line in self._mixed for touch in touched)
            certain = mixed <= _MIXED * len(shared)
            return Use("false_sharing", spot.name, spot.where, certain)
        if self._interleaved(touched):
            spot = side_by_side(touched, self.recording, self._names, self._knowledge)[0]
            return Use("false_sharing", spot.name, spot.where, certain=True)
        return self._streams(touched, samples, place)

    def alone_ns(self) -> tuple[int, Counter[int]]:
        """The time for which only one thread lived, and the stacks in which it ran meanwhile."""
        spans = spans_of_one(self.recording)
        stacks = stacks_within(self.recording, spans)
        return sum(end - begin for begin, end in spans), stacks

    def _touch(self, sample: Sample) -> Touch | None:
        at = self.recording.stacks.get(sample.stack, ())
        if at and self._text(*at[0]).startswith(_STRINGS):
            address = sample.registers.get("di")
            return None if address is None else (sample, address, True)
        operand = operand_of(sample, self.recording, self._names)
        address = None if operand is None else address_of(operand, sample)
        if operand is None or address is None or operand.loops:
            return None
        return sample, address, operand.writes or not operand.plain

    def _writes(self, sample: Sample) -> list[Touch]:
        """The words that are written soon after a sample."""
        stack = self.recording.stacks.get(sample.stack, ())
        writes = () if sample.kernel or not stack else self._names.written_next(*stack[0])
        addresses = (address_of(each, sample) for each in writes)
        return [(sample, each, True) for each in addresses if each is not None]

    def _shared_by(self, sample: Sample) -> Spot | None:
        """A line of which the sample's thread and others use different words."""
        touch = self._touch(sample)
        touches = [*([touch] if touch else []), *self._writes(sample)]
        lines = (address // self._line for _, address, _ in touches)
        return next((self._lines[line] for line in lines if line in self._lines), None)

    @cached_property
    def _lines(self) -> dict[int, Spot]:
        """Lines of which threads use different words, in whatever functions."""
        by_line: dict[int, list[Touch]] = defaultdict(list)
        own = [s for place, them in self._samples.items() if not place.sort for s in them]
        for touch in filter(None, map(self._touch, own)):
            by_line[touch[1] // self._line].append(touch)
        for sample in own:  # behind those that samples stand for, which have names
            for touch in self._writes(sample):
                by_line[touch[1] // self._line].append(touch)
        found = {}
        for line, touched in by_line.items():
            if len(touched) >= _FEWEST:
                for spot in side_by_side(touched, self.recording, self._names, self._knowledge):
                    found[line] = spot
                if line not in found and len({sample.tid for sample, _, _ in touched}) > 1:
                    self._mixed.add(line)
        return found

    def _interleaved(self, touched: list[Touch]) -> bool:
        """Whether threads use different words of many lines, each seen seldom."""
        seen: dict[int, dict[tuple[int, int], bool]] = defaultdict(dict)
        for sample, address, writes in touched:
            words = seen[address // self._line]
            words[sample.tid, address] = writes or words.get((sample.tid, address), False)
        pairs = [
            writes_a or writes_b
            for words in seen.values()
            for ((a, at_a), writes_a), ((b, at_b), writes_b) in combinations(words.items(), 2)
            if a != b and at_a != at_b
        ]
        # Most samples show a read of a word that is also written.
        enough = len(pairs) >= _PAIRS and sum(pairs) >= _WRITTEN
        return enough and bool(side_by_side(touched, self.recording, self._names, self._knowledge))

    def _streams(self, touched: list[Touch], samples: list[Sample], place: Place) -> Use:
        """The use of memory all over."""
        lines = Counter(address // self._line for _, address, _ in touched)
        alone = sum(1 for count in lines.values() if count == 1)
        few = len(touched) < max(_LEAST_TOUCHED, _MEMORY * len(samples))
        if few or alone < _ALL_OVER * len(touched):
            return Use("")
        pages: dict[int, set[int]] = defaultdict(set)
        for sample, address, writes in touched:
            if writes:
                pages[sample.tid].add(address // _PAGE)
        apart = all(
            len(a & b) <= _SAME_PAGES * min(len(a), len(b))
            for a, b in combinations(pages.values(), 2)
        )
        inner = next(iter(self.places.stacks.frames(samples[0].stack, True)), None)
        return Use("memory_bandwidth", place.function, inner.where if inner else "", apart)
