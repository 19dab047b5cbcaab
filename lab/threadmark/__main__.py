"""`python -m threadmark`."""

import sys

from threadmark.cli import main

sys.exit(main(sys.argv[1:]))
