"""Opens devices: disks, memory, terminals, the clock, and kernel settings.

Contained: none can be opened; 0, 1 and 2 lead to /dev/null.
"""

import os


def attack():
    opened = []
    for path in (
        "/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/tty", "/dev/ptmx",
        "/dev/console", "/dev/random", "/dev/fuse", "/dev/kvm", "/dev/net/tun", "/dev/full",
        "/dev/rtc0", "/proc/kcore", "/proc/kallsyms", "/proc/sysrq-trigger", "/proc/keys",
        "/proc/sys/kernel/core_pattern", "/sys/kernel/uevent_helper", "/sys/fs/cgroup",
        "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/cgroup.procs", "/proc/self/cgroup", "/proc/self/uid_map",
    ):  # fmt: skip
        for flags in (os.O_RDONLY, os.O_WRONLY):
            try:
                os.close(os.open(path, flags))
            except OSError:
                continue
            opened.append(path)
    leads = {os.fstat(number).st_rdev for number in range(3)}
    return f"breach: {opened}" if opened or len(leads) > 1 else "held"
