"""From rows to verdicts. Pure: no clock, no file, no machine."""
