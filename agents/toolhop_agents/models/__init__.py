"""Who replies: real models behind `openai` and `litellm`, scripted agents, a person."""
