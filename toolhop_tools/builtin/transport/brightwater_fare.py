"""Fares of the Brightwater Light Railway, a network made up for this tool."""

import re

PENCE = {1: 210, 2: 290, 3: 360, 4: 430}
PEAK_SUPPLEMENT = 45
PEAKS = (("07:00", "09:30"), ("16:30", "18:30"))


def brightwater_fare(zones: int, arrival: str, riders: dict[str, int]) -> int | dict[str, str]:
    """Return what a group pays for one journey, in pence.

    Adults pay by the zones touched, and a supplement when they arrive in a peak; children pay
    half an adult's fare without supplement.
    """
    clock = arrival.strip()
    if re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", clock) is None:
        return {"error": f"arrival: {arrival!r} is no time; write it as 07:45 on a 24-hour clock"}
    adults, children = int(riders.get("adults", 0)), int(riders.get("children", 0))
    if adults + children == 0:
        return {"error": "riders: nobody travels; give at least one adult or child"}
    fare = PENCE[int(zones)]
    peak = any(start <= clock < end for start, end in PEAKS)
    return adults * (fare + PEAK_SUPPLEMENT * int(peak)) + children * fare // 2
