"""One HTML file a report: figures, and every episode to read. See docs/report.md."""
