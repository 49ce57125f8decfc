"""Models and agents that produce replies: `openai` and `litellm` clients, scripted agents, a
person.
"""
