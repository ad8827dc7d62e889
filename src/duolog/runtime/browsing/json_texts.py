"""JSON in keys and values, as RFC 8259 defines it."""

import json


def parse_json(text: str) -> object:
    """Parse JSON; numbers stay texts, since they may be large.

    Python's parser also reads NaN and Infinity, which no browser and no other client reads.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not a number of JSON")
