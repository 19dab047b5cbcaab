"""tmk for Conan 2: `conan create include`. Headers alone, so one package serves all settings."""

from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy


class Tmk(ConanFile):
    """The targets are those of the CMake package: tmk::tmk and tmk::redirect_std."""

    name = "tmk"
    license = "Apache-2.0 WITH LLVM-exception"
    description = "std::async, futures and locks that scale, for C++20 on Linux"
    topics = ("threads", "futures", "work stealing", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports = "tmk/version.hpp"
    no_copy_source = True

    def set_version(self):
        text = Path(self.recipe_folder, "tmk/version.hpp").read_text(encoding="utf-8")
        self.version = text.partition('TMK_VERSION "')[2].partition('"')[0]

    def export_sources(self):
        copy(self, "tmk/*", src=self.recipe_folder, dst=self.export_sources_folder)
        above = Path(self.recipe_folder).parent
        copy(self, "LICENSE", src=str(above), dst=self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("tmk is for Linux")

    def package(self):
        into = Path(self.package_folder)
        for pattern in ("tmk/*.hpp", "tmk/*.md"):
            copy(self, pattern, src=self.source_folder, dst=str(into / "include"))
        copy(self, "LICENSE", src=self.source_folder, dst=str(into / "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "tmk")
        tmk = self.cpp_info.components["tmk"]
        redirect = self.cpp_info.components["redirect_std"]
        for component, name in ((tmk, "tmk"), (redirect, "redirect_std")):
            component.set_property("cmake_target_name", f"tmk::{name}")
            component.bindirs = component.libdirs = []
        tmk.set_property("pkg_config_name", "tmk")
        tmk.system_libs = ["pthread"]
        redirect.requires = ["tmk"]
        redirect.cxxflags = ["-include", "tmk/redirect_std.hpp"]
