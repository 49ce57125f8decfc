"""Agents, prompts, the agent loop, the runner of episodes, and the command line."""
