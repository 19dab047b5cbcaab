"""Semaphores: whether threads wait for permits that others hold, or for items of others' work."""

from __future__ import annotations

import pytest
from made import MAIN, TICK, Made, waits, works

A, B, C = 101, 102, 103


@pytest.mark.parametrize(("thing", "category"), [(2, "serial_dependency"), (1, "semaphore")])
def test_a_thread_that_waits_at_another_semaphore_takes_none_of_the_permits(
    thing: int, category: str
) -> None:
    """Two threads wait for free places in a queue, which a third thread makes by its work. That
    thread waits now and then, for a frame or for such a place."""
    full = waits("semaphore", 1, "sem_wait@libc put grab")
    empty = waits("semaphore", thing, "sem_wait@libc encode")
    made = Made(processors=4).thread(MAIN, waits("join", 0, "pthread_join@libc main", A))
    made.thread(A, [works()] + [full] * 9, "grab_all").thread(B, [works()] + [full] * 9, "grab_all")
    made.thread(C, [works()] * 24 + [empty], "main").sample(C, "compress encode", 90)
    made.thing(1, "semaphore", waits=180).thing(2, "semaphore", waits=4)
    made.pair(1, "semaphore", "sem_wait@libc put grab", "sem_post@libc encode", 180 * TICK)
    made.pair(thing, "semaphore", "sem_wait@libc encode", "sem_post@libc grab", 4 * TICK)
    made.sample(A, "fill grab", 9).sample(B, "fill grab", 9)
    assert made.first()["category"] == category


@pytest.mark.parametrize(
    ("worker", "category"),
    [
        ("encode main", "serial_dependency"),
        ("encode {lambda} main", "semaphore"),  # which may be the lambda of the wait
    ],
)
def test_a_thread_outside_of_the_lambda_of_the_wait_takes_no_permit(
    worker: str, category: str
) -> None:
    full = waits("semaphore", 1, "sem_wait@libc {lambda}")
    made = Made().thread(MAIN, works()).sample(MAIN, worker, 90)
    made.thread(A, [works()] + [full] * 9, "main").thread(B, [works()] + [full] * 9, "main")
    made.thing(1, "semaphore", waits=180)
    made.pair(1, "semaphore", "sem_wait@libc {lambda}", "sem_post@libc main", 180 * TICK)
    first = made.first()
    assert (first["category"], first["certain"]) == (category, category != "semaphore")


@pytest.mark.parametrize(("takes", "category"), [(0, "serial_dependency"), (4, "semaphore")])
def test_a_stage_of_a_pipeline_takes_nothing_of_what_it_makes(takes: int, category: str) -> None:
    """One statement makes all stages. The last one waits for items of the slow one before it."""
    items = waits("semaphore", 1, "sem_wait@libc get stage")
    made = Made(processors=4).thread(MAIN, waits("join", 0, "pthread_join@libc main", B))
    made.thread(A, [works()] + [items] * 9, "main").sample(A, "frame stage", 9)
    made.thread(B, [items] * takes + [works()] * (100 - takes), "main")
    made.sample(B, "deflate stage", 90)
    made.thing(1, "semaphore", waits=90)
    made.pair(1, "semaphore", "sem_wait@libc get stage", "sem_post@libc put stage", 90 * TICK)
    assert made.first()["category"] == category
