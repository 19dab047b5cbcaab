"""The prerequisites of measuring: packages, builds, executables."""
