"""Runs in the formats of other tools: parquet, Hugging Face data sets, Inspect logs, chats."""
