"""The connection over a container's standard streams: tunnel on the host, relay inside."""
