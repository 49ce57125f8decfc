"""How long certifying takes, and what it proves: `toolhop certify` timed as a user runs it.

    python -m benchmarks.certify [DATA] [--sandbox docker]

DATA is the 60 real items beside the project if they are there, else builtin. Told are wall time,
this process's own processor time, that of the sandboxed calls where they are children of it (the
process sandbox), and the figures of the certificates. Other load on the machine shows in wall time
alone.

Exit code 0: done, 1: the command failed, 3: no data here.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "toolhop" / "ToolHop-60.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default=str(DATA) if DATA.exists() else "builtin")
    parser.add_argument("--sandbox", default="docker")
    options = parser.parse_args()
    if options.data != "builtin" and not Path(options.data).exists():
        print(f"no data at {options.data}", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "certificates.jsonl"
        command = [sys.executable, "-c", "from toolhop_agents.cli import main; main()", "certify"]
        command += [options.data, "--sandbox", options.sandbox, "--out", str(out), "--json"]
        command.append("--exit-zero")
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        wall_s = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            return 1
        size = out.stat().st_size
    report = json.loads(done.stdout)
    hops, chance = report["hops"], report["chance"]
    proven = hops["proven"] / max(1, sum(hops.values()))
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"data               {options.data}, {report['certified']} items, sandbox {options.sandbox}"
    )
    print(f"wall               {wall_s:.1f} s (load {os.getloadavg()[0]:.1f})")
    print(f"processor time     {cpu_s:.1f} s")
    print(f"memory at most     {after.ru_maxrss / 1024:.0f} MiB")
    print(f"calls              {report['executions']:,}, {chance['runs']:,} with random values")
    print(f"items              {report['verdicts']}")
    print(f"hops               {hops}, {proven:.1%} proven")
    print(f"gold calls         {report['provenance']}")
    print(f"random arguments   {chance['hits']} of {chance['runs']} reach the gold")
    print(f"defects            {report['defects']}")
    print(f"file               {size / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
