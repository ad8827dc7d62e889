"""Topology files, starts and stored state of applications, for `duolog run` and `state`."""
