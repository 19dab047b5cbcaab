"""What must be there before something can be measured: packages, builds, executables."""
