"""Settings that preload a library, for several fixes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path, PurePath

from threadmark.fixes.fix import NotApplicableError, Setting, Target
from threadmark.machine.preload import preloadable
from threadmark.model.errors import LabError
from threadmark.setup import allocators
from threadmark.setup.preload_library import preload_library

IN_IMAGE = "/usr/local/lib"  # the folder of an image for copied libraries


def allocator(name: str) -> Callable[[Target], Setting]:
    """Another malloc."""

    def setting(target: Target) -> Setting:
        target.needs_loader()
        if target.glibc == ():
            raise NotApplicableError("this C library is not glibc, so another malloc may not fit")
        if target.links(f"lib{name}"):
            raise NotApplicableError(f"the program is linked with {name} already")
        paths, reason = allocators.library(name)
        if reason:
            raise NotApplicableError(reason)
        package = allocators.package(name)
        install = f"RUN apt-get update && apt-get install -y --no-install-recommends {package}"
        # The loader of the image finds a library of a package by its name alone.
        preload = tuple(paths.split(":"))
        names = {path: PurePath(path).name for path in preload}
        return Setting(preload=preload, setup=(install,), in_image=names)

    return setting


def own_library(
    name: str, *, variables: Mapping[str, str] | None = None, tunables: tuple[str, ...] = ()
) -> Callable[[Target], Setting]:
    """A library of lab/preload/."""

    def setting(target: Target) -> Setting:
        target.needs_loader()
        target.needs_glibc()
        try:
            library = preload_library(name)
            path = preloadable(library) if library else ""
        except LabError as error:
            raise NotApplicableError(str(error).rstrip(".")) from error
        if library is None:
            raise NotApplicableError("there is no C compiler for the library to preload")
        lines, place = copied(library)
        return Setting(variables or {}, (path,), tunables, setup=lines, in_image={path: place})

    return setting


def copied(library: Path) -> tuple[tuple[str, ...], str]:
    """The lines of a Dockerfile that copy a library of this machine into an image, and its path
    there."""
    place = f"{IN_IMAGE}/{library.name}"
    remark = f"# {library.name} must lie beside the Dockerfile; here it is {library}"
    return (remark, f"COPY {library.name} {place}"), place


def tunables(*names: str, since: tuple[int, int] = (2, 26)) -> Callable[[Target], Setting]:
    """Tunables of glibc, which has them since a version."""

    def setting(target: Target) -> Setting:
        target.needs_glibc(*since)
        return Setting(tunables=names)

    return setting
