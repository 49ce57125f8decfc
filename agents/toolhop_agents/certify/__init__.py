"""Certificates of gold calls: the command, its blind readers and its output."""
