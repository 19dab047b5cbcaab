"""`python -m threadmark`, and the command `threadmark` of an installed wheel."""

from __future__ import annotations

import sys

from threadmark.machine.processes import restore_locale
from threadmark.machine.standard_streams import guarded
from threadmark.model.errors import LabError


def run() -> int:
    """Run the command line; returns the exit status."""
    restore_locale()
    return guarded(_run)


def _run() -> int:
    try:
        from threadmark.cli import main  # finds the checkout, or unpacks it from a wheel
    except LabError as problem:
        print(f"threadmark: {problem}", file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:  # while the modules loaded
        print("threadmark: interrupted before the command began.", file=sys.stderr)
        return 130
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
