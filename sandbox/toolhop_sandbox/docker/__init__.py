"""Everything specific to the Docker engine: containers, the image, and their upkeep."""
