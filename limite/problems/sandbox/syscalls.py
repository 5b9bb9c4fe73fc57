"""Numbers of the system calls that the sandbox makes or lets a program make, by architecture."""

from __future__ import annotations

import platform

# fmt: off
_X86_64 = {
    "access": 21, "alarm": 37, "arch_prctl": 158, "brk": 12, "chdir": 80, "chmod": 90,
    "clock_getres": 229, "clock_gettime": 228, "clock_nanosleep": 230, "clone": 56, "clone3":
    435, "close": 3, "close_range": 436, "copy_file_range": 326, "creat": 85, "dup": 32,
    "dup2": 33, "dup3": 292, "epoll_create": 213, "epoll_create1": 291, "epoll_ctl": 233,
    "epoll_pwait": 281, "epoll_wait": 232, "eventfd2": 290, "exit": 60, "exit_group": 231,
    "faccessat": 269, "faccessat2": 439, "fadvise64": 221, "fallocate": 285, "fchdir": 81,
    "fchmod": 91, "fchmodat": 268, "fcntl": 72, "fdatasync": 75, "flock": 73, "fstat": 5,
    "fstatfs": 138, "fsync": 74, "ftruncate": 77, "futex": 202, "futimesat": 261,
    "get_robust_list": 274, "getcpu": 309, "getcwd": 79, "getdents64": 217, "getegid": 108,
    "geteuid": 107, "getgid": 104, "getgroups": 115, "getitimer": 36, "getpgid": 121,
    "getpgrp": 111, "getpid": 39, "getppid": 110, "getrandom": 318, "getresgid": 120,
    "getresuid": 118, "getrlimit": 97, "getrusage": 98, "getsid": 124, "gettid": 186,
    "gettimeofday": 96, "getuid": 102, "ioctl": 16, "kill": 62, "link": 86, "linkat": 265,
    "lseek": 8, "lstat": 6, "madvise": 28, "membarrier": 324, "mincore": 27, "mkdir": 83,
    "mkdirat": 258, "mmap": 9, "mprotect": 10, "mremap": 25, "msync": 26, "munmap": 11,
    "nanosleep": 35, "newfstatat": 262, "open": 2, "openat": 257, "pause": 34, "pipe": 22,
    "pipe2": 293, "poll": 7, "ppoll": 271, "prctl": 157, "pread64": 17, "preadv": 295,
    "prlimit64": 302, "pselect6": 270, "pwrite64": 18, "pwritev": 296, "read": 0, "readlink":
    89, "readlinkat": 267, "readv": 19, "rename": 82, "renameat": 264, "renameat2": 316,
    "restart_syscall": 219, "rmdir": 84, "rseq": 334, "rt_sigaction": 13, "rt_sigpending":
    127, "rt_sigprocmask": 14, "rt_sigreturn": 15, "rt_sigsuspend": 130, "rt_sigtimedwait":
    128, "sched_get_priority_max": 146, "sched_get_priority_min": 147, "sched_getaffinity":
    204, "sched_getparam": 143, "sched_getscheduler": 145, "sched_yield": 24, "select": 23,
    "sendfile": 40, "set_robust_list": 273, "set_tid_address": 218, "setitimer": 38,
    "sigaltstack": 131, "stat": 4, "statfs": 137, "statx": 332, "symlink": 88, "symlinkat":
    266, "sysinfo": 99, "tgkill": 234, "time": 201, "times": 100, "truncate": 76, "umask": 95,
    "uname": 63, "unlink": 87, "unlinkat": 263, "utime": 132, "utimensat": 280, "utimes": 235,
    "wait4": 61, "waitid": 247, "write": 1, "writev": 20,
    "capset": 126, "pivot_root": 155, "mount_setattr": 442, "seccomp": 317, "unshare": 272,
    "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
}

_AARCH64 = {
    "brk": 214, "chdir": 49, "clock_getres": 114, "clock_gettime": 113, "clock_nanosleep":
    115, "clone": 220, "clone3": 435, "close": 57, "close_range": 436, "copy_file_range": 285,
    "dup": 23, "dup3": 24, "epoll_create1": 20, "epoll_ctl": 21, "epoll_pwait": 22,
    "eventfd2": 19, "exit": 93, "exit_group": 94, "faccessat": 48, "faccessat2": 439,
    "fadvise64": 223, "fallocate": 47, "fchdir": 50, "fchmod": 52, "fchmodat": 53, "fcntl":
    25, "fdatasync": 83, "flock": 32, "fstat": 80, "fstatfs": 44, "fsync": 82, "ftruncate":
    46, "futex": 98, "get_robust_list": 100, "getcpu": 168, "getcwd": 17, "getdents64": 61,
    "getegid": 177, "geteuid": 175, "getgid": 176, "getgroups": 158, "getitimer": 102,
    "getpgid": 155, "getpid": 172, "getppid": 173, "getrandom": 278, "getresgid": 150,
    "getresuid": 148, "getrlimit": 163, "getrusage": 165, "getsid": 156, "gettid": 178,
    "gettimeofday": 169, "getuid": 174, "ioctl": 29, "kill": 129, "linkat": 37, "lseek": 62,
    "madvise": 233, "membarrier": 283, "mincore": 232, "mkdirat": 34, "mmap": 222, "mprotect":
    226, "mremap": 216, "msync": 227, "munmap": 215, "nanosleep": 101, "newfstatat": 79,
    "openat": 56, "pipe2": 59, "ppoll": 73, "prctl": 167, "pread64": 67, "preadv": 69,
    "prlimit64": 261, "pselect6": 72, "pwrite64": 68, "pwritev": 70, "read": 63, "readlinkat":
    78, "readv": 65, "renameat": 38, "renameat2": 276, "restart_syscall": 128, "rseq": 293,
    "rt_sigaction": 134, "rt_sigpending": 136, "rt_sigprocmask": 135, "rt_sigreturn": 139,
    "rt_sigsuspend": 133, "rt_sigtimedwait": 137, "sched_get_priority_max": 125,
    "sched_get_priority_min": 126, "sched_getaffinity": 123, "sched_getparam": 121,
    "sched_getscheduler": 120, "sched_yield": 124, "sendfile": 71, "set_robust_list": 99,
    "set_tid_address": 96, "setitimer": 103, "sigaltstack": 132, "statfs": 43, "statx": 291,
    "symlinkat": 36, "sysinfo": 179, "tgkill": 131, "times": 153, "truncate": 45, "umask":
    166, "uname": 160, "unlinkat": 35, "utimensat": 88, "wait4": 260, "waitid": 95, "write":
    64, "writev": 66,
    "capset": 91, "pivot_root": 41, "mount_setattr": 442, "seccomp": 277, "unshare": 97,
    "landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446,
}
# fmt: on

NUMBERS: dict[str, int] = {"x86_64": _X86_64, "aarch64": _AARCH64}.get(platform.machine(), {})
"""By name, for this machine; empty for an architecture that is not known here."""

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}.get(platform.machine(), 0)
"""How the kernel names this architecture to a filter of system calls."""
