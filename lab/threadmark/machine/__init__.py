"""Facts of this machine, and what the kernel says of processes."""
