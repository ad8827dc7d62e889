"""What a function of these cannot do, though the engine can."""


class Unsupported(Exception):
    """A pattern says what has no meaning here: the query is refused, for a null would be wrong."""
