"""One file per command. The lab finds a file by its name; the file registers itself with
`command(app)`.

A module whose name would be a keyword ends with an underscore (`import_`); the command does not.
"""
