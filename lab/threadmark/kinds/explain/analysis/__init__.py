"""From a record to states and causes. Nothing here sees a clock, a file or the machine."""
