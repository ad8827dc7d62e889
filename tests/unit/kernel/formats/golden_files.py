"""The golden files in `tests/golden/formats`, which both languages must write and read.

    *.tsv    lines of fields, separated by tabs; the last field is the exact text
    *.hex    named sections of bytes: hexadecimal digits, or text in quotes
    others   the exact content of a file

Lines that start with # are comments.
"""

import json
from pathlib import Path
from typing import Final

GOLDEN: Final = Path(__file__).parents[3] / "golden" / "formats"


def rows(name: str) -> dict[tuple[str, str], str]:
    """Return the texts of a table by its first two fields."""
    found = {}
    for line in (GOLDEN / f"{name}.tsv").read_text().splitlines():
        if not line.startswith("#"):
            first, second, text = line.split("\t")
            found[first, second] = text
    return found


def sections(name: str) -> dict[str, bytes]:
    """Return the bytes of each section."""
    found: dict[str, bytes] = {}
    section = ""
    for line in (GOLDEN / f"{name}.hex").read_text().splitlines():
        content = line.partition("  #")[0].strip()
        if content.startswith("["):
            section = content.strip("[]")
            found[section] = b""
        elif content.startswith('"'):
            found[section] += str(json.loads(content)).encode()
        elif content and not content.startswith("#"):
            found[section] += bytes.fromhex(content)
    return found


def content(name: str) -> bytes:
    return (GOLDEN / name).read_bytes()
