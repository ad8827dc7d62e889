"""Applications as `duolog run` and `duolog state` handle them: topology files, starts and stored state."""
