"""Features of Python that a recording could disturb: locks, queues, signals, children, pools."""

import concurrent.futures
import multiprocessing
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path


def square(value: int) -> int:
    return value * value


def main() -> None:
    print(
        "descriptors",
        sorted(each.name for each in Path("/proc/self/fd").iterdir()),
        "threads",
        threading.active_count(),
    )
    print("variables", sorted(os.environ))
    ticks = []
    signal.signal(signal.SIGPROF, lambda *_: ticks.append(1))
    signal.setitimer(signal.ITIMER_PROF, 0.004, 0.004)
    lock, total = threading.Lock(), 0

    def add() -> None:
        nonlocal total
        for _ in range(2000):
            with lock:
                total += 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while len(ticks) < 2:
        sum(range(1000))
    signal.setitimer(signal.ITIMER_PROF, 0)
    print("counted", total)

    words: queue.Queue[int] = queue.Queue(4)
    maker = threading.Thread(target=lambda: [words.put(i) for i in range(200)])
    maker.start()
    print("taken", sum(words.get(timeout=10) for _ in range(200)))
    maker.join()

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        print("pool", sum(pool.map(square, range(100))))
    with multiprocessing.get_context("fork").Pool(2) as processes:
        print("processes", processes.map(square, range(5)))
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(len(os.environ)); raise SystemExit(3)"],
        check=False,
        capture_output=True,
        text=True,
    )
    print("child", done.stdout.strip() == str(len(os.environ)), done.returncode, done.stderr)
    alarms = []
    signal.signal(signal.SIGALRM, lambda *_: alarms.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.005)
    began = time.monotonic()
    time.sleep(0.02)  # the sleep goes on after the handler
    print("alarms", alarms, "slept", time.monotonic() - began >= 0.02)
    sys.exit(5)


if __name__ == "__main__":
    main()
