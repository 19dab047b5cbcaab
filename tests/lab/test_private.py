"""Libraries side by side: a platform's private libraries are whole, its own, and in use.

apt-get and dpkg are fakes in PATH, except in the last test, which takes unpacked libraries of this
checkout.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from threadmark.model.errors import LabError
from threadmark.setup import apt, lock, packages, preparation, private, python_environment
from threadmark.setup.platforms import Platform, Private, platforms

FakeApt = Callable[[str], Path]
# A downloaded package is a file with its name; an unpacked package is a folder with its name.
DOWNLOAD = 'case "$*" in *download*) for each; do :; done; touch "$each.deb";; esac'
_PROBE = """
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
int main() {
  std::cout << _LIBCPP_VERSION << '\\n';
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libc++.so") != line.npos) std::cout << line.substr(line.find('/')) << '\\n';
}
"""


@pytest.fixture
def fake_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeApt:
    """Set the body of apt-get; returns the file with one line for each call."""
    tools, calls = tmp_path / "tools", tmp_path / "calls"
    tools.mkdir()
    calls.touch()
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setattr(packages, "LOG", tmp_path / "build/setup.log")
    monkeypatch.setattr(lock, "BUILD", tmp_path / "build")

    def write(body: str) -> Path:
        for name, text in {
            "apt-get": f'echo "$*" >> {calls}\n{body}',
            "dpkg": 'mkdir -p "$3/usr/${2##*/}"',
        }.items():
            (tools / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            (tools / name).chmod(0o755)
        return calls

    return write


def _ignore(sentence: str) -> None:
    """Drop the sentence about an installation."""


def _platform(folder: Path, *wheels: str, names: tuple[str, ...] = ("liba-1",)) -> Platform:
    private = Private(folder, packages=names, wheels=wheels)
    return Platform("x", "c++", (), ("some-package",), optional=True, private=private)


def test_a_library_beside_another_is_unpacked_and_never_installed(
    fake_apt: FakeApt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_apt(DOWNLOAD)
    monkeypatch.setattr(apt, "privilege", list)  # root could install the package
    platform = _platform(tmp_path / "deps/liba")
    assert "not unpacked here; run: ./threadmark setup --platforms x" in platform.missing()
    said: list[tuple[str, str]] = []
    assert private.bring([platform], lambda text: said.append((text, calls.read_text()))) == {}
    assert said == [(f"Unpacking into {tmp_path}/deps/liba: liba-1.", "")]
    assert (tmp_path / "deps/liba/usr/liba-1.deb").is_dir()
    assert " install " not in calls.read_text()
    assert "unpacked" not in platform.missing()
    before = calls.read_text()
    assert private.bring([platform], _ignore) == {}
    assert calls.read_text() == before


def test_a_library_that_came_in_part_is_not_there(fake_apt: FakeApt, tmp_path: Path) -> None:
    fake_apt('echo "E: Failed to fetch a file"; exit 100')
    platform = _platform(tmp_path / "deps/liba")
    told = private.bring([platform], _ignore)
    assert "could not be fetched" in told["x"]
    assert "setup.log" in told["x"]
    assert "not unpacked here" in platform.missing()
    (tmp_path / "deps/liba.partial/left-over").mkdir(parents=True)
    fake_apt(DOWNLOAD)
    assert private.bring([platform], _ignore) == {}
    assert [each.name for each in (tmp_path / "deps/liba").iterdir()] == ["usr"]


def test_a_package_that_there_is_not_is_named(fake_apt: FakeApt, tmp_path: Path) -> None:
    fake_apt('case "$*" in *download*) echo "E: Unable to locate package liba-1"; exit 100;; esac')
    assert (
        "knows no package liba-1"
        in private.bring([_platform(tmp_path / "deps/liba")], _ignore)["x"]
    )


def test_a_toolchain_that_pip_refuses_costs_its_platform_alone(
    fake_apt: FakeApt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_apt(DOWNLOAD)

    def refuse(wheels: tuple[str, ...], folder: Path) -> None:
        assert wheels == ("zag==1 --hash=sha256:0",)
        (folder / "half").touch()
        raise LabError("no network.")

    monkeypatch.setattr(python_environment, "unpack", refuse)
    both = [
        _platform(tmp_path / "deps/zag", "zag==1 --hash=sha256:0", names=()),
        _platform(tmp_path / "deps/liba"),
    ]
    assert private.bring(both[:1], _ignore) == {"x": "no network."}
    assert private.bring(both[1:], _ignore) == {}
    assert [each.private.present() for each in both if each.private] == [False, True]


def test_a_wheel_of_another_hash_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "zag-1-py3-none-any.whl"
    wheel.write_bytes(b"not what was agreed")
    line = f"zag @ {wheel.as_uri()} --hash=sha256:{'0' * 64}"
    with pytest.raises(LabError, match="could not be installed"):
        python_environment.unpack([line], tmp_path / "zag")
    assert not (tmp_path / "zag").exists()


def test_an_optional_platform_is_measured_only_where_it_is_named() -> None:
    optional = [each.name for each in platforms() if each.optional]
    assert optional
    default = [each.name for each in preparation.chosen(())]
    assert default[:2] == ["gcc-libstdc++", "clang-libc++"]
    assert not set(optional) & set(default)
    assert [each.name for each in preparation.chosen((optional[0],))] == optional[:1]


def test_one_preset_is_all_that_a_library_beside_another_needs(tmp_path: Path) -> None:
    preset = {
        "name": "new",
        "vendor": {
            "threadmark": {
                "packages": ["clang-99"],
                "optional": True,
                "private": {"folder": "liba-9", "packages": ["liba-9-dev"]},
            }
        },
        "cacheVariables": {
            "CMAKE_CXX_COMPILER": "${sourceDir}/.deps/liba-9/cc;c++",
            "CMAKE_CXX_FLAGS": "-isystem ${sourceDir}/.deps/liba-9",
            "CMAKE_EXE_LINKER_FLAGS": "-La",
        },
    }
    text = json.dumps({"configurePresets": [preset, {"name": "other"}]})
    (tmp_path / "CMakePresets.json").write_text(text, encoding="utf-8")
    deps = tmp_path / ".deps/liba-9"
    flags = ("-isystem", str(deps), "-La")
    private = Private(deps, ("liba-9-dev",))
    expected = Platform("new", f"{deps}/cc;c++", flags, ("clang-99",), True, private)
    assert platforms(tmp_path) == [expected]


@pytest.mark.parametrize("name", [each.name for each in platforms() if "libc++" in each.name])
def test_a_program_loads_the_libcxx_that_it_was_compiled_for(name: str, tmp_path: Path) -> None:
    platform = next(each for each in platforms() if each.name == name)
    if platform.missing():
        pytest.skip(platform.missing())
    (tmp_path / "probe.cpp").write_text(_PROBE, encoding="ascii")
    line = [platform.compiler, *platform.flags, "probe.cpp", "-o", "probe"]
    subprocess.run(line, check=True, cwd=tmp_path, stderr=sys.stderr)
    done = subprocess.run([tmp_path / "probe"], check=True, capture_output=True, text=True)
    version, *loaded = done.stdout.splitlines()
    number = name.partition("libc++")[2]
    if number:
        assert version.startswith(number)
    assert loaded
    private = platform.private
    assert all(
        (private is not None and str(private.folder) in each) == bool(number) for each in loaded
    )
