"""The grid of the studies: what is run on what data, and the tables that keep it."""
