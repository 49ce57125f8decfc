"""Human review of made data, on a page or a terminal: reviewers answer first, then judge."""
