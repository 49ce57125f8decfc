"""Export runs to the formats of other tools: parquet, Hugging Face, Inspect logs, chats."""
