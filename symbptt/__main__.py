"""python -m symbptt is the command symbptt."""

from symbptt.cli import main

main()
