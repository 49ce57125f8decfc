"""Run the command ``toolhop`` as ``python -m toolhop_agents``."""

from toolhop_agents.cli import main

if __name__ == "__main__":
    main()
