"""How manifests of older runs become manifests of the newest format. See `env.formats`."""

from __future__ import annotations

from env.formats import Document, Step


def m001_sittings(manifest: Document) -> Document:
    """Format 2 has a list of sittings: a run may be stopped and gone on with.

    In format 1 a run had one. What limit stopped it is nothing: there were none for a run.
    """
    sitting: Document = {
        "started_at": manifest.get("started_at"),
        "ended_at": manifest.get("ended_at"),
        "status": manifest.get("status"),
        "fault": manifest.get("fault", ""),
        "stopped_by": "",
        "changed": {},
    }
    return {**manifest, "format": 2, "stopped_by": "", "sittings": [sitting]}


STEPS: tuple[Step, ...] = (m001_sittings,)
FORMAT = len(STEPS) + 1
"""Version of the manifest. Readers upgrade older ones and refuse newer ones."""
