"""The alternative connection to a container, over its standard streams: tunnel here, relay
inside.
"""
