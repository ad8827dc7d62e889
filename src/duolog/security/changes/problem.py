"""The error of one part of a request, with Kafka's code."""

from typing import NamedTuple


class Problem(NamedTuple):
    """An error code of Kafka and a message for the user."""

    code: int
    message: str
