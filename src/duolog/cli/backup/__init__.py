"""The parts of `duolog backup` and `duolog restore` that know applications."""
