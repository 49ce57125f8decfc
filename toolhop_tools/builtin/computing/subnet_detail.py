"""Arithmetic of IPv4 subnets."""


def subnet_detail(address: str, prefix_length: int, want: str) -> str | int | dict[str, str]:
    """Return one fact about the subnet in which the address lies."""
    octets = address.strip().split(".")
    good = len(octets) == 4 and all(
        part.isascii() and part.isdigit() and len(part) <= 3 and int(part) <= 255 for part in octets
    )
    if not good:
        return {
            "error": f"address: {address!r} is not IPv4; write four numbers from 0 to 255 "
            "with dots between them, as in 192.168.0.1"
        }
    size = 1 << (32 - int(prefix_length))
    number = sum(int(part) << shift for part, shift in zip(octets, (24, 16, 8, 0), strict=True))
    network = number - number % size
    if want == "usable_hosts":
        # A /31 links two routers and a /32 is one host: there, no address is set aside.
        return size if size <= 2 else size - 2
    if want == "mask":
        return dotted(2**32 - size)
    return dotted(network if want == "network" else network + size - 1)


def dotted(number: int) -> str:
    """Write a 32-bit number as four decimal octets."""
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
