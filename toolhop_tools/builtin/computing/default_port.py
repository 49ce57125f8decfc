"""Ports on which network services are expected unless told otherwise."""

# Plain port, then the port of the variant that speaks TLS from the first byte (0: none).
PORTS = {
    "bgp": (179, 0),
    "dns": (53, 853),
    "finger": (79, 0),
    "ftp": (21, 990),
    "git": (9418, 0),
    "http": (80, 443),
    "imap": (143, 993),
    "ldap": (389, 636),
    "memcached": (11211, 0),
    "mongodb": (27017, 0),
    "mqtt": (1883, 8883),
    "mysql": (3306, 0),
    "ntp": (123, 0),
    "pop3": (110, 995),
    "postgresql": (5432, 0),
    "rdp": (3389, 0),
    "redis": (6379, 0),
    "sip": (5060, 5061),
    "snmp": (161, 0),
    "ssh": (22, 0),
    "syslog": (514, 6514),
    "telnet": (23, 992),
    "tftp": (69, 0),
    "whois": (43, 0),
}


def default_port(service: str, secure: bool = False) -> int | dict[str, str]:
    """Return the default port of the service, or of its TLS variant when ``secure`` is true."""
    key = service.strip().casefold()
    if key not in PORTS:
        return {"error": f"service: {service!r} is not listed; use one of {', '.join(PORTS)}"}
    plain, encrypted = PORTS[key]
    if secure and not encrypted:
        return {"error": f"secure: {key} has no separate TLS port; ask again with secure false"}
    return encrypted if secure else plain
