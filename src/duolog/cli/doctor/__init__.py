"""The parts of `duolog doctor` that need more than the log: internal topics, checkpoints."""
