"""Threadmark's lab: builds, measures, judges and shows. See ARCHITECTURE.md for the parts."""
