"""The product's own command, as this interpreter runs it, wherever its script was installed."""

from __future__ import annotations

import sys

TOOLHOP = [sys.executable, "-c", "from agents.cli import main; main()"]
