"""strassen: its tasks, sides that are refused, and memory that runs out inside a task."""

from __future__ import annotations

import resource
import subprocess

import pytest


@pytest.mark.parametrize(
    ("n", "cutoff", "tasks"),
    [(64, 64, 0), (128, 64, 7), (512, 64, 399), (256, 16, 2800), (768, 64, 2800)],
)
@pytest.mark.parametrize("variant", ["plain", "fork_join"])
def test_every_node_above_the_cutoff_has_seven_tasks(n, cutoff, tasks, variant, run):
    result = run(
        "strassen", "serial", "--variant", variant, "--arg", f"n={n}", "--arg", f"cutoff={cutoff}"
    )
    assert result.status == 0
    assert result.last["tasks"] == tasks


@pytest.mark.parametrize("arguments", [("n=1000",), ("n=18",)])
def test_a_side_that_cannot_be_halved_to_the_cutoff_is_refused(arguments, run):
    result = run("strassen", "serial", *(f for a in arguments for f in ("--arg", a)))
    assert (result.status, result.lines) == (2, [])
    assert "can be halved" in result.stderr


@pytest.mark.parametrize("backend", ["serial", "std_async"])
def test_memory_that_runs_out_in_a_task_is_a_status(backend, executable):
    limit = 128 << 20  # the matrices take 96 MiB, the sums and products of one path 53 MiB

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    variant = ["--variant", "deferred"] if backend == "std_async" else []
    done = subprocess.run(
        [executable("strassen", backend), "--run", "--size", "smoke", "--arg", "n=2048", *variant],
        preexec_fn=confine,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 5
    assert '"status":"out_of_memory"' in done.stdout
