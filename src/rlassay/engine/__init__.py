"""Running many tasks, and keeping what they produced."""
