"""Code that one thread has of its own, beside code that all have in common."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from threadmark.kinds.explain.analysis.frames import Frame
from threadmark.kinds.explain.analysis.own_code import of_one_thread, own_functions


def samples(counts: Mapping[tuple[int, str], int]) -> list[Any]:
    """So many samples by thread and stack."""
    return [
        SimpleNamespace(tid=tid, stack=stack)
        for (tid, stack), count in counts.items()
        for _ in range(count)
    ]


def code(sample: Any) -> Any:
    return sample.stack.split()[0]


class Names:
    @staticmethod
    def frames(stack: str, exact: bool = False) -> list[Frame]:
        return [Frame(name, "", "prog", own=True) for name in stack.split()]


STEP = {(1, "step run"): 30, (2, "step run"): 30, (3, "step run"): 30}


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({**STEP, (1, "sort rebuild run"): 40}, 40),
        ({**STEP, (1, "sort rebuild run"): 9}, 0),  # little of its work
        ({**STEP, (1, "step run"): 90}, 0),  # more of the common work
        # Each thread has a copy of the code.
        ({**STEP, **{(tid, f"sort{tid} rebuild run"): 40 for tid in (1, 2, 3)}}, 0),
        # It takes no part in the common work, as a stage of a pipeline.
        ({(1, "sort rebuild run"): 40, (2, "step run"): 30, (3, "step run"): 30}, 0),
        # Pieces of code with few samples each may be common code.
        ({**STEP, **{(1, f"sort{number} rebuild run"): 7 for number in range(6)}}, 0),
    ],
)
def test_code_of_one_thread(counts: Mapping[tuple[int, str], int], found: int) -> None:
    own = of_one_thread(samples(counts), code)
    assert len(own) == found
    assert all(each.tid == 1 for each in own)
    assert all(str(each.stack).endswith("rebuild run") for each in own)


def test_the_functions_of_that_code_are_those_that_no_other_thread_runs() -> None:
    all_of_them = samples({**STEP, (1, "std::__introsort rebuild run"): 40})
    names: Any = Names()
    own = of_one_thread(all_of_them, code)
    assert own_functions(own, all_of_them, names) == {"rebuild"}
    assert own_functions([], all_of_them, names) == set()
