"""Training data from episodes: chats and preference pairs whose labels were executed."""
