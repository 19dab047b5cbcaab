"""tmk in plugins that dlopen loads: the number of pools is as in docs/dropin.md, and a plugin may
be closed. Also on musl, if Zig's C++ compiler is there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from compilers import ROOT, Platform, run, succeed

HERE = Path(__file__).resolve().parent
HIDDEN = "-fvisibility=hidden"
VISIBILITIES = {"g++": ((), (HIDDEN,), ("-fno-gnu-unique",), ("-fno-gnu-unique", HIDDEN))}
INCLUDE = f"-I{ROOT}/include"


def plugins(platform: Platform, folder: Path, flags: Sequence[str]) -> list[Path]:
    """Two plugins of one source."""
    first, second = folder / "first.so", folder / "second.so"
    shared = (*flags, INCLUDE, "-O2", "-fPIC", "-shared", HERE / "plugin.cpp", "-o", first)
    succeed(platform.command(*shared))
    shutil.copyfile(first, second)
    return [first, second]


def host(platform: Platform, folder: Path, *flags: str | Path) -> Path:
    program = folder / "host"
    succeed(platform.command(*flags, HERE / "plugin_host.cpp", "-o", program, "-ldl"))
    return program


def using_host(platform: Platform, folder: Path, *flags: str) -> Path:
    """The same host, but it uses tmk itself."""
    return host(platform, folder, "-DHOST_USES_TMK", INCLUDE, *flags, HERE / "plugin.cpp")


def test_a_plugin_may_be_closed_after_use(platform: Platform, tmp_path: Path) -> None:
    program = host(platform, tmp_path)
    for flags in VISIBILITIES.get(platform.compiler, ((), (HIDDEN,))):
        pair = plugins(platform, tmp_path, flags)
        for opened in (pair, pair[:1] * 2):
            done = run([program, "close", *opened])
            assert (done.returncode, done.stdout) == (0, "alive\n"), flags


def test_the_number_of_pools_is_as_documented(platform: Platform, tmp_path: Path) -> None:
    built = {flags: tmp_path / name for flags, name in (((), "shown"), ((HIDDEN,), "hidden"))}
    for folder in built.values():
        folder.mkdir()
    pairs = {flags: plugins(platform, folder, flags) for flags, folder in built.items()}

    def counts(program: Path) -> tuple[int, int]:
        """The pools with plugins that show their symbols, and with plugins that hide them."""
        shown, hidden = (int(succeed([program, "count", *pair])) for pair in pairs.values())
        return shown, hidden

    assert "| two plugins | 1 pool | 2 | 2 |" in (ROOT / "docs/dropin.md").read_text()
    one_for_plugins = 1 if platform.compiler == "g++" else 2
    assert counts(host(platform, tmp_path)) == (one_for_plugins, 2)
    assert counts(using_host(platform, tmp_path)) == (1 + one_for_plugins, 3)
    # The remedy: the program uses tmk and shows its symbols, and nothing is hidden.
    assert counts(using_host(platform, tmp_path, "-rdynamic")) == (1, 3)


def test_a_plugin_may_use_tmk_while_it_is_loaded(platform: Platform, tmp_path: Path) -> None:
    # Its initialiser runs under the loader's lock while another thread uses tmk for the first time.
    wait = "#include <tmk/async.hpp>\n#include <chrono>\n#include <thread>\nusing namespace std;\n"
    plugin, program = tmp_path / "plugin.cpp", tmp_path / "program.cpp"
    plugin.write_text(
        wait
        + """
struct AtLoad {
  AtLoad() {
    this_thread::sleep_for(chrono::milliseconds(300));
    tmk::async([] {}).get();
  }
} at_load;
"""
    )
    program.write_text(
        wait
        + """
#include <dlfcn.h>
#include <unistd.h>
int main(int, char** words) {
  alarm(20);
  thread user([] {
    this_thread::sleep_for(chrono::milliseconds(100));
    tmk::async([] {}).get();
  });
  const bool loaded = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL) != nullptr;
  user.join();
  return loaded ? 0 : 1;
}
"""
    )
    library, executable = tmp_path / "plugin.so", tmp_path / "program"
    succeed(platform.command(INCLUDE, "-fPIC", "-shared", plugin, "-o", library))
    succeed(platform.command(INCLUDE, "-rdynamic", program, "-o", executable, "-ldl"))
    assert run([executable, library]).returncode == 0


def test_without_exceptions_it_does_not_compile(platform: Platform, tmp_path: Path) -> None:
    source = tmp_path / "use.cpp"
    source.write_text("#include <tmk/async.hpp>\n")
    succeed(platform.command(INCLUDE, "-fsyntax-only", source))
    done = run(platform.command(INCLUDE, "-fno-exceptions", "-fsyntax-only", source))
    assert "exception" in done.stderr


@pytest.fixture
def musl() -> list[str]:
    """Zig's C++ compiler for musl, which ./threadmark setup can install."""
    zig = ROOT / ".deps/zig-0.15.2/ziglang/zig"
    if not zig.exists():
        pytest.skip("zig is missing: ./threadmark setup --platforms zig-musl")
    options = ["-target", "native-linux-musl", "-mcpu=baseline", "-idirafter", "/usr/include"]
    return [str(zig), "c++", "-std=c++20", "-O2", *options, INCLUDE]


def test_a_static_program_on_musl_works(musl: list[str], tmp_path: Path) -> None:
    program = tmp_path / "use"
    source = tmp_path / "use.cpp"
    source.write_text(
        "#include <unistd.h>\n#include <cstdio>\n#include <thread>\n"
        "#include <tmk/async.hpp>\n#include <tmk/fork_join.hpp>\n#include <tmk/pool.hpp>\n"
        f'#include "{HERE}/plugin.cpp"\n'
        "int main() {\n"
        "  int sum = use();\n"
        "  if (setgid(getgid()) != 0) return 1;\n"  # signals each thread
        "  std::thread([&] { sum += use(); use_at_thread_exit(); }).join();\n"
        "  sum += tmk::async(tmk::launch::thread, [] { return 1; }).get();\n"
        "  auto [a, b] = tmk::fork_join([] { return 2; }, [] { return 3; });\n"
        "  sum += a + b + tmk::pool(3).run(use);\n"
        '  std::printf("%d\\n", sum);\n'
        "}\n"
    )
    succeed([*musl, source, "-o", program])
    assert succeed([program]) == "306\n"


def test_a_plugin_for_musl_can_be_loaded(musl: list[str], tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.so"
    succeed([*musl, "-fPIC", "-shared", HERE / "plugin.cpp", "-o", plugin])
    assert "STATIC_TLS" not in succeed(["readelf", "-d", plugin])  # musl refuses it
    loader = Path(f"/lib/ld-musl-{os.uname().machine}.so.1")
    if loader.exists():
        program = tmp_path / "host"
        succeed([*musl, "-dynamic", HERE / "plugin_host.cpp", "-o", program])
        assert succeed([program, "count", plugin]) == "1\n"
