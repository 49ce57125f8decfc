"""The function-calling simulator: episodes, feedback, traces and scores."""


def __getattr__(name: str) -> str:
    if name == "__version__":  # lazy, as it reads the installed metadata
        from importlib.metadata import version

        return version("toolhop-env")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
