"""Is handed a traceback as the argument of `__exit__`, and looks into it by name, text and pattern.

Contained: it can be held and not be opened.
"""


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for look in (
            lambda: getattr(trace, "tb_" + "frame"),
            lambda: ("{0.tb_" + "frame}").format(trace),
        ):
            try:
                self.found = look()
            except Exception:
                continue
        return True


def attack():
    manager = Manager()
    with manager:
        raise ValueError
    return f"escaped: {manager.found}" if hasattr(manager, "found") else "held"
