"""Asks the kernel what its container has: networks, mounts, capabilities, memory, cgroups, queues.

Played where its files can be opened.

Contained: only the loopback interface, a read-only root, no capability that could ever be had, one
processor, less than a gigabyte, swap included, no name of the machine's cgroups, and no bytes in
message queues.
"""

import resource


def read(*paths):
    for path in paths:
        try:
            with open(path) as file:
                return file.read().split("\n")
        except OSError:
            continue
    return [""]


def attack():
    wide = []
    wide += [line.split(":")[0] for line in read("/proc/net/dev")[2:-1] if "lo:" not in line]
    roots = [line.split() for line in read("/proc/mounts") if line.split()[1:2] == ["/"]]
    if any("ro" not in root[3].split(",") for root in roots):
        wide.append("its root can be written")
    status = dict(line.split(":\t", 1) for line in read("/proc/self/status") if ":\t" in line)
    if int(status["CapBnd"], 16):
        wide.append(f"capabilities {status['CapBnd']}")
    group = "/sys/fs/cgroup"
    quota = read(f"{group}/cpu/cpu.cfs_quota_us", f"{group}/cpu.max")[0].split() or ["none"]
    if quota[0] != "100000":
        wide.append(f"processors {quota}")
    most = read(f"{group}/memory/memory.limit_in_bytes", f"{group}/memory.max")[0]
    if not most.isdecimal() or int(most) > 1 << 30:
        wide.append(f"memory {most}")
    swap = read(f"{group}/memory/memory.memsw.limit_in_bytes", f"{group}/memory.swap.max")[0]
    if not swap.isdecimal() or int(swap) not in (0, int(most)):
        wide.append(f"memory and swap {swap}")
    if any(resource.getrlimit(resource.RLIMIT_MSGQUEUE)):
        wide.append("message queues")
    groups = [line for line in read("/proc/self/cgroup") if line and not line.endswith(":/")]
    if groups:
        wide.append(f"cgroups {groups[0]}")
    return f"breach: {wide}" if wide else "held"
