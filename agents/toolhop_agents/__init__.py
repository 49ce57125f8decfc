"""Agents, prompts, the loop, the runner of many episodes, and the command line."""
