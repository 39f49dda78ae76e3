"""`python -m rlassay` is the command line."""

from rlassay.cli import main

main()
