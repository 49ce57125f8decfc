"""Has the kernel kill others before it when memory runs out.

Contained: no file of /proc can be opened.
"""


def attack():
    for name in ("/proc/self/oom_score_adj", "/proc/self/oom_adj", "/proc/thread-self/oom_adj"):
        try:
            with open(name, "w") as file:
                file.write("-1000" if "score" in name else "-17")
        except OSError:
            continue
        return f"breach: {name}"
    return "held"
