"""The kind of `explain`: where the threads of any program spend their time, and why."""

COMMAND = "explain"
