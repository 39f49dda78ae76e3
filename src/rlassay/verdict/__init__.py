"""Expert or not, what to expect, what to do next: a forecast of what agents reach, its label and the advice."""
