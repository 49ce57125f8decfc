"""Items in the forms of other harnesses; each module needs that harness, and an extra."""
