"""The dataset and what is known about its columns and its task."""
