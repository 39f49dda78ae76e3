"""Results as values: what a command found, and how it stands in JSON."""
