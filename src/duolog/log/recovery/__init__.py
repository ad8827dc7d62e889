"""Recovery of a partition's log from its files, and what a start after a crash has to read."""
