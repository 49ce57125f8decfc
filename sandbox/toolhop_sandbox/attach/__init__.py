"""The second way to a container, over its standard streams: tunnel on the host, relay inside."""
