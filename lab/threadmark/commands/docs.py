"""`threadmark docs`: the documents as a site that opens without a network."""

from __future__ import annotations

import sys

import cyclopts

from threadmark.options import InstallOption


def command(app: cyclopts.App) -> None:
    """Register the command."""
    app.command(docs)


def docs(*, install: InstallOption = True) -> None:
    """Build the documents as a site with a search, which opens without a network.

    The site is build/docs/index.html. Every link is checked. The generator's packages are
    installed by pip below .deps the first time. Exit status: 0, or 2 where a link is broken.
    """
    from threadmark.setup import site

    sys.stdout.write(f"Documents: {site.build(install=install)}\n")
