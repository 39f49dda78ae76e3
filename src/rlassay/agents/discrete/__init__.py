"""The agents of discrete actions, each beside its continuous sibling in name, order of updates and losses."""
