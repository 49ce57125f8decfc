"""Texts that a report must show as they are."""

from __future__ import annotations

HOSTILE = '</script><img src="http://127.0.0.1:9/x" onerror="window.hurt=1"><b>bold</b>&amp;'
TURNING = "left \u202e right \x1b[31m red \x00 end"
HEBREW = "שלום עולם, 42"
BIG = '{"n": 12345678901234567890, "n": 1.10, "text": "' + "x" * 90 + '"}'
LONG_WORD = "w" * 3000
