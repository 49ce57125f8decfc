"""Who replies: real models behind `openai` and `litellm`, scripted players, a person."""
