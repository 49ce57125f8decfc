"""One HTML file per report, with figures and every episode. See docs/report.md."""
