"""One file per command. A file here is found by its name and registers itself with `command(app)`.

A module whose name would be a keyword ends with an underscore (`import_`); the command does not.
"""
