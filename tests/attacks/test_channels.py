"""Ways for two calls of one moment to talk that are closed stay closed."""

from __future__ import annotations

import anyio
import pytest

from tests.attacks.channels import WAYS, Heard, talk

CLOSED = {
    "futex on a page of libc": "EAGAIN",
    "futex on a page of libc, woken by the end of a thread": "EAGAIN",
    "processor time of others": "EPERM",
    "threads of the machine, by sysinfo": "EPERM",
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_way_that_is_closed_is_refused(name: str) -> None:
    (way,) = (one for one in WAYS if one.name == name)
    heard = anyio.run(lambda: talk("process", way, bits=2, rate=50))
    assert {"EAGAIN": "Errno 11", "EPERM": "Errno 1]"}[CLOSED[name]] in heard.refused


@pytest.mark.parametrize(("right", "bits_per_s"), [(100, 20.0), (50, 0.0), (89, 10.0), (99, 18.4)])
def test_bits_a_second_are_the_capacity_with_the_errors_seen(right: int, bits_per_s: float) -> None:
    assert Heard(right, 100).bits_per_s(20) == pytest.approx(bits_per_s, abs=0.05)
    assert Heard(right, 100, "refused").bits_per_s(20) == 0
