"""Certificates of gold calls: the command, its readers and what it prints."""
