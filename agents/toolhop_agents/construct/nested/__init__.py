"""Make nested tasks: run tools for their sources, ask models, and write the files."""
