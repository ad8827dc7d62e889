"""Functions of URLs."""

from collections.abc import Mapping
from typing import Final

from duolog.engine.lowering.sql_functions.lowering import Lowering, plain

_PARTS: Final = ("FRAGMENT", "HOST", "PARAMETER", "PATH", "PORT", "PROTOCOL", "QUERY")

URL_FUNCTIONS: Final[Mapping[str, Lowering]] = {
    "URL_ENCODE_PARAM": plain("duolog_url_encode({0})"),
    "URL_DECODE_PARAM": plain("duolog_url_decode({0})"),
    **{f"URL_EXTRACT_{part}": plain(f"duolog_url_{part.lower()}({{all}})") for part in _PARTS},
}
