"""Changes the settings of its process: environment, zone, locale, folder, mask, limits, digits.

Contained: they are its process's own.
"""

import decimal
import locale
import os
import resource
import sys
import time


def attack():
    os.environ.clear()
    os.environ.update(TZ="Asia/Tokyo", LEFT="1")
    time.tzset()
    locale.setlocale(locale.LC_ALL, "C")
    for change in (lambda: os.chdir("/tmp"), lambda: os.umask(0o777)):
        try:
            change()
        except OSError:
            continue
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
    sys.setrecursionlimit(100)
    sys.set_int_max_str_digits(0)
    sys.setswitchinterval(60)
    decimal.getcontext().prec = 1
    return "held"
