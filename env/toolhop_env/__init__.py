"""The function-calling simulator: episodes, feedback, traces and scores."""
