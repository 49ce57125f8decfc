"""Serves scripted constructors and readers over the OpenAI protocol, until it is ended.

    python -m studies.serve [--port 8123]
    python -m studies.serve --kinds

It prints its address, which --base-url of ``toolhop construct`` takes. The model's name
chooses the script: ``openai/honest``, ``openai/clumsy``, ``openai/faulty:KIND:stubborn``,
``openai/wrong``.
"""

from __future__ import annotations

import argparse
import sys
import threading

from studies.constructor.kinds import PLANTS
from studies.constructor.serving import respond
from toolhop_agents.models.loopback import LoopbackServer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes any that is free")
    parser.add_argument("--kinds", action="store_true", help="list the kinds of faults")
    given = parser.parse_args()
    if given.kinds:
        for name, plant in PLANTS.items():
            print(f"{name}: {plant.fault}")
        return
    try:
        with LoopbackServer(respond, port=given.port) as server:
            print(server.base_url, flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        parser.error(f"--port {given.port}: {error.strerror}")


if __name__ == "__main__":
    main()
