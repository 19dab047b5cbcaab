"""Installs the private packages of a platform: packages that exclude installed ones, or a
toolchain.

They are unpacked into a folder of their own below .deps, where no other platform looks.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from threadmark.model.errors import LabError
from threadmark.setup import lock, packages, python_environment
from threadmark.setup.apt import unpack
from threadmark.setup.platforms import Platform


def bring(platforms: Sequence[Platform], report: packages.Report) -> dict[str, str]:
    """Unpack the absent packages; returns the platforms that stay without them, with the reason.

    The function calls `report` before each installation.
    """
    found = {each.name: _bring(each, report) for each in platforms}
    return {name: why for name, why in found.items() if why}


def _bring(platform: Platform, report: packages.Report) -> str:
    private = platform.private
    if private is None or private.present():
        return ""
    partial = private.folder.with_name(f"{private.folder.name}.partial")
    with lock.exclusive():
        try:
            if private.present():  # another lab was faster
                return ""
            shutil.rmtree(partial, ignore_errors=True)  # of an interrupted try
            partial.mkdir(parents=True)
            packages.LOG.parent.mkdir(parents=True, exist_ok=True)
            if private.packages:
                report(f"Unpacking into {private.folder}: {', '.join(private.packages)}.")
                lists = private.folder.parent
                result = unpack(private.packages, partial, packages.LOG, lists=lists)
                if not result.done:
                    why = result.refusal or "they could not be fetched"
                    return f"{', '.join(private.packages)}: {why}; {packages.LOG} has it all"
            if private.wheels:
                names = ", ".join(each.split()[0] for each in private.wheels)
                report(f"Installing by pip into {private.folder}: {names}.")
                python_environment.unpack(private.wheels, partial)
            partial.rename(private.folder)
        except LabError as error:
            return str(error)
        except OSError as error:
            return f"{partial} cannot be written ({error.strerror}); give space and permission"
    return ""
