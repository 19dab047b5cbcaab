"""Tasks that a program hands out itself with the futures of the C++ library."""

from __future__ import annotations

import pytest
from made import MAIN, Made, waits, works

A, B = 101, 102


def tasks(manages: int, works_for: int, run: str = "_int_free@libc std::packaged_task::operator()",
          **calls: str) -> Made:  # fmt: skip
    """Two threads with so many samples of managing tasks and of their work."""
    made = Made().thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    made.thread(A, works(), "main").thread(B, works(), "main")
    for tid in (A, B):
        made.sample(tid, f"{run} Crew::fork::{{lambda#1}}::operator() refine worker", manages)
        made.sample(tid, f"{calls.get('library', '')} integrate refine worker".strip(), works_for)
    return made


def test_tasks_that_cost_more_than_their_work_are_the_cause() -> None:
    first = tasks(60, 40).first()
    assert (first["category"], first["name"]) == ("task_overhead", "Crew::fork")
    assert not first["certain"]
    assert "1.5 times as long as their work" in first["words"]


@pytest.mark.parametrize("made", [
    tasks(30, 70),
    tasks(60, 40, "exp@libm std::promise::set_value"),  # its value is computed there
    tasks(60, 40, "std::sort"),
    tasks(60, 40, ""),
    tasks(1, 99, library="std::vector::push_back"),
])  # fmt: skip
def test_other_work_is_no_task(made: Made) -> None:
    first = made.first()
    assert (first["category"], first["certain"]) == ("none", True)


@pytest.mark.parametrize("invoke", [
    "std::_Function_handler::_M_invoke", "std::__1::__function::__func::operator()",
])  # fmt: skip
@pytest.mark.parametrize(("locks", "category"), [(60, "task_overhead"), (30, "none")])
def test_locks_around_function_objects_are_a_part_of_tasks(
    invoke: str, locks: int, category: str
) -> None:
    task = f"refine refine::{{lambda}}::operator() {invoke} Pool::run_one worker"
    made = tasks(0, 0)
    for tid in (A, B):
        made.sample(tid, f"pthread_mutex_unlock@libc Pool::push {task}", locks // 2)
        made.sample(tid, f"_int_free@libc Pool::run_one {task}", locks - locks // 2)
        made.sample(tid, f"integrate {task}", 100 - locks)
    assert made.first()["category"] == category


def test_a_few_samples_with_the_name_of_a_future_are_no_tasks() -> None:
    made = tasks(1, 19)
    for tid in (A, B):
        made.sample(tid, "_Unwind_RaiseException@libgcc_s.so.1 refine worker", 80)
    named = "_Unwind_RaiseException@libgcc_s.so.1 std::__future_base::_State refine worker"
    made.sample(A, named, 1)
    assert made.first()["category"] == "none"
    made.sample(A, named, 20)
    assert made.first()["category"] == "task_overhead"


def test_locks_without_function_objects_are_no_tasks() -> None:
    assert tasks(60, 40, "pthread_mutex_unlock@libc post").first()["category"] == "none"
