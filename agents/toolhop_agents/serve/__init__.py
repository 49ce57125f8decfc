"""`toolhop serve`: serve a scripted agent or a model file over the OpenAI protocol."""
