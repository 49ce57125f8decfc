"""The plugin of verifiers, which looks for a module of its own name: ``vf-eval toolhop``."""

from toolhop_agents.adapters.verifiers_taskset import ToolHopTaskset

__all__ = ["ToolHopTaskset"]
