"""docs/tmk.md has every public name of tmk and no other, and its examples do as the page says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from threadmark.model.places import ROOT
from tmk.reference.public_names import declared, names_of

PAGE = (ROOT / "docs/tmk.md").read_text(encoding="utf-8")
# Pages that describe further headers, each with its own examples and their test.
BESIDE = [ROOT / "docs/loops.md"]
SECTIONS = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
NAMES = names_of(ROOT / "include/tmk")


def described() -> dict[str, str]:
    """Name -> the section that describes it."""
    return {
        name: text
        for title, text in SECTIONS.items()
        for name in title.split(", ")
        if "/" not in name
    }


def elsewhere() -> set[str]:
    """Names in the declarations of the other pages."""
    pages = [page.read_text(encoding="utf-8") for page in BESIDE if page.exists()]
    blocks = [each for page in pages for each in re.findall(r"```c\+\+\n(.*?)```", page, re.DOTALL)]
    return {name for each in blocks for name, _ in declared("namespace tmk {" + each + "}")}


def test_the_names_are_found_in_headers() -> None:
    text = """
    namespace tmk {
    namespace detail { struct Hidden { void no(); }; }
    using std::future_error;
    enum class launch : unsigned { async = 1 };
    template <class F, class... A>
      requires(!std::is_same_v<F, A> && ...)
    [[nodiscard]] INLINE future<F> async(launch policy, F&& f) { return g(f); }
    class pool : public detail::Hidden {
     public:
      explicit pool(unsigned threads) : n_(threads) {}
      ~pool() { close(); }
      unsigned size() const { return n_; }
      int kept = f(3);
     private:
      void hidden() {}
      unsigned n_;
    };
    inline constexpr base oct = base::oct, dec = base::dec;
    inline statistics stats() { return {}; }
    }
    """
    assert list(dict.fromkeys(declared(text))) == [
        ("future_error", ""), ("launch", ""), ("async", ""), ("pool", ""), ("pool", "size"),
        ("pool", "kept"), ("oct", ""), ("dec", ""), ("stats", ""),
    ]  # fmt: skip


def test_every_public_name_is_described_and_no_other() -> None:
    assert len(NAMES) > 25
    known = described()
    # promise and packaged_task also have swap as a member, and their sections describe it.
    missing = NAMES.keys() - known.keys() - elsewhere() - {"swap"}
    assert not missing, f"add a section of docs/tmk.md for each of {sorted(missing)}"
    assert not known.keys() - NAMES.keys()


@pytest.mark.parametrize("name", sorted(described()))
def test_a_section_names_the_public_members(name: str) -> None:
    words = set(re.findall(r"\w+", described()[name]))
    assert NAMES[name] <= words, f"{name}: say what {sorted(NAMES[name] - words)} does"


@pytest.mark.parametrize("title", sorted(each for each in SECTIONS if "/" not in each))
def test_a_section_has_signature_meaning_and_example(title: str) -> None:
    text = SECTIONS[title]
    assert "```cpp\n" in text
    assert "**Meaning.**" in text or "standard's own" in text
    if "template <class F" in text:
        assert "**Errors.**" in text


@pytest.mark.parametrize("headers", ["include/tmk", "one header"])
def test_the_examples_compile_and_hold(headers: str, tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is missing")
    top, *bodies = re.findall(r"```cpp\n(.*?)```", PAGE, re.DOTALL)
    folder = ROOT / "include"
    if headers == "one header":
        folder = tmp_path
        script = [sys.executable, str(ROOT / "tools/single_header")]
        subprocess.run([*script, "--output", str(tmp_path / "tmk.hpp")], check=True)
        top = re.sub(r"(#include \"tmk/.*\n)+", '#include "tmk.hpp"\n', top)
    calls = "".join(f"  example_{i}();\n" for i in range(len(bodies)))
    functions = "".join(f"void example_{i}() {{\n{body}}}\n" for i, body in enumerate(bodies))
    source = tmp_path / "examples.cpp"
    source.write_text(f"{top}\nnamespace {{\n{functions}}}\nint main() {{\n{calls}}}\n")
    line = [compiler, "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
    line += [f"-I{folder}", str(source), "-o", str(tmp_path / "examples")]
    built = subprocess.run(line, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([tmp_path / "examples"], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_program_of_the_readme_compiles_by_the_line_of_the_reference(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is missing")
    blocks = re.findall(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 1
    (tmp_path / "prog.cpp").write_text(blocks[0])
    (tmp_path / "include").symlink_to(ROOT / "include")
    (line,) = re.findall(r"```sh\n(.*)\n```", PAGE)  # the reference gives the command to compile
    subprocess.run([*line.split(), "-Wall", "-Wextra", "-Werror"], check=True, cwd=tmp_path)
    subprocess.run([tmp_path / "prog"], check=True)


AROUND_TEXT = """
#include <string>
#include <string_view>
#include "tmk/text.hpp"
std::string sent;
std::string record(int i) { return "order " + std::to_string(i) + " ff 0.5"; }
bool refuse(const std::string&) { return false; }
void send(std::string_view text) { sent = text; }
bool both(int i) {
%s  return true;
}
int main() { return both(7) && sent == "order 7 0.5\\n" ? 0 : 1; }
"""


def test_the_snippet_of_the_page_on_text_compiles_and_holds(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is missing")
    page = (ROOT / "docs/text.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    source = tmp_path / "text.cpp"
    source.write_text(AROUND_TEXT % snippet)
    line = [compiler, "-std=c++20", f"-I{ROOT / 'include'}", str(source)]
    subprocess.run([*line, "-o", str(tmp_path / "text")], check=True)
    subprocess.run([tmp_path / "text"], check=True)


def test_the_code_of_the_page_about_text_compiles(tmp_path: Path) -> None:
    page = (ROOT / "docs/text.md").read_text(encoding="utf-8")
    [body] = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
    source = tmp_path / "text.cpp"
    source.write_text(
        '#include "tmk/text.hpp"\n#include <ios>\n#include <string>\n#include <string_view>\n'
        "std::string record(int i);\nvoid refuse(const std::string& line);\n"
        f"void send(std::string_view text);\nvoid adopt(int i) {{\n{body}}}\n"
    )
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is missing")
    line = [compiler, "-std=c++20", "-Wall", "-Werror", "-fsyntax-only"]
    built = subprocess.run(
        [*line, f"-I{ROOT / 'include'}", str(source)], check=False, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
