"""A kind of run whose runs are no cells: the number of each letter in a text."""

COMMAND = "letters"
