"""The meaning of a system call of x86-64 for a thread that sleeps in it."""

from __future__ import annotations

_OF = {
    "io": (
        *range(4), 4, 5, 6, 7, 8, *range(17, 21), 22, 23, 40, *range(42, 51), 61, 72, 73,
        *range(74, 92), 217, 232, 247, *range(257, 272), 275, 276, 277, 278, 281, 285,
        *range(287, 289), 293, 295, 296, 299, 306, 307, 326, 327, 328, 332, 426, 437, 441,
    ),
    "kernel_memory": (9, 10, 11, 12, 25, 26, 27, 28, 149, 151, 237, 325),
    "futex": (202, 449, 454, 455),
    "semaphore": (65, 220),
    "event": (69, 70, 242, 243),  # a message in a queue
    "sleep": (34, 35, 128, 130, 230),
    "starting": (56, 57, 58, 59, 435, 60, 231),
    "yield": (24,),
}  # fmt: skip
# Calls for input and output that the agent does not time: close, sendfile, flock, io_getevents,
# openat, splice, sync_file_range, recvmmsg, sendmmsg, copy_file_range, io_uring_enter.
UNTIMED = (3, 40, 73, 208, 257, 275, 277, 299, 307, 326, 426)
RESTARTED = 219  # any call that goes on after a stop, as restart_syscall
_POLLS = (7, 23, 232, 270, 271, 281, 441)
_BY_CALL = {call: what for what, calls in _OF.items() for call in calls}
_BY_CALL |= dict.fromkeys(_POLLS, "poll")


def kind_of_call(call: int) -> str:
    """io, kernel_memory, futex, semaphore, event, sleep, starting, yield; empty if not known."""
    return _BY_CALL.get(call, "")


_NAMES = {
    0: "read", 1: "write", 7: "poll", 17: "pread", 18: "pwrite", 19: "readv", 20: "writev",
    23: "select", 24: "sched_yield", 35: "nanosleep", 40: "sendfile", 42: "connect", 43: "accept",
    44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 61: "wait4", 72: "fcntl",
    73: "flock", 74: "fsync", 75: "fdatasync", 230: "clock_nanosleep", 232: "epoll_wait",
    247: "waitid", 257: "openat", 270: "pselect6", 271: "ppoll", 275: "splice",
    277: "sync_file_range", 281: "epoll_pwait", 288: "accept4", 295: "preadv", 296: "pwritev",
    299: "recvmmsg", 307: "sendmmsg", 326: "copy_file_range", 426: "io_uring_enter",
}  # fmt: skip


def name_of_call(call: int) -> str:
    """The C library's name of the system call of x86-64; empty for a call that seldom sleeps."""
    return _NAMES.get(call, "")


_IN_KERNEL = (
    ("futex", ("futex_",)),
    ("semaphore", ("do_semtimedop", "__do_semtimedop")),
    ("event", ("do_msg", "wq_sleep")),
    ("kernel_memory", ("rwsem_down_", "down_read", "down_write", "do_user_addr_fault",
      "__vma_", "vma_start")),
    ("sleep", ("do_nanosleep", "hrtimer_nanosleep", "schedule_hrtimeout")),
    ("starting", ("do_exit", "do_wait", "kernel_clone", "wait_for_completion")),
    ("yield", ("do_sched_yield", "__do_sys_sched_yield", "yield")),
    ("poll", ("ep_", "do_epoll", "do_poll", "do_select", "poll_", "do_sys_poll")),
    ("io", (
        "pipe_", "anon_pipe_", "unix_", "sock_", "sk_", "tcp_", "udp_", "inet_", "skb_", "io_",
        "folio_", "jbd2_", "ext4_", "xfs_", "btrfs_", "wait_on_", "vfs_", "n_tty_",
        "tty_", "blk_", "bit_wait", "submit_bio", "fuse_", "virtio", "nfs_", "eventfd_", "inotify_",
    )),
)  # fmt: skip


def kind_of_kernel(function: str) -> str:
    """The same for the kernel's function in which a thread sleeps."""
    for kind, prefixes in _IN_KERNEL:
        if function.startswith(prefixes):
            return kind
    return ""
