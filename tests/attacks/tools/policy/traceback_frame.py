"""Raises, catches, and walks from the traceback to the frames of the worker.

Contained: the names do not compile.
"""


def attack():
    try:
        raise ValueError
    except ValueError as error:
        return f"escaped: {error.__traceback__.tb_frame.f_back.f_globals.keys()}"
