"""A kind of run whose runs are no cells: how often each letter stands in a text."""

COMMAND = "letters"
