"""Convert keys and values to and from text, for `duolog produce` and `duolog consume`."""
