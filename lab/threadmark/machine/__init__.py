"""Facts of this machine, and the kernel's view of processes."""
