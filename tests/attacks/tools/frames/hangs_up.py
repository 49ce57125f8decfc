"""Closes its connection and waits for ever, which takes no processor time.

Contained: the host gives it a second to end, then has it killed; it died.
"""

import os
import time


def attack():
    os.closerange(0, 24)
    while True:
        time.sleep(3600)
