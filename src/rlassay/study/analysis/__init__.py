"""What is read from the tables of the studies: correlations, questions, rest, budget."""
