"""`toolhop serve`: a scripted agent, or a model out of a file, behind the OpenAI protocol."""
