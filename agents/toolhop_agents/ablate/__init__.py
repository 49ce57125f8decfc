"""What one factor does to answers: the same items under each of its levels, in pairs."""
