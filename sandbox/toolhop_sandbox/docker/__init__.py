"""What knows the Docker engine: containers, the image, and looking after both."""
