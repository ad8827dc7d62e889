"""Text that users wrote: files and lines in UTF-8, with or without a byte order mark.

Editors of Windows put a byte order mark first, which is not part of the text. Any other encoding is refused: read as
if it were UTF-8, it would be wrong without an error.
"""

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from duolog.core.errors import EncodingError

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SHOWN_MAX: Final = 60


def read_text_file(path: Path) -> str:
    r"""Return the text of a file; line ends are `\n`.

    Raises:
        EncodingError: it is not UTF-8; the error names file and line.
        OSError: it cannot be read.
    """
    return decode_text(path.read_bytes(), str(path))


def decode_text(data: bytes, name: str) -> str:
    """Return the text of `data`, which comes from the file `name`; raises as `read_text_file`."""
    return "".join(decode_lines(data.splitlines(keepends=True), name))


def decode_lines(lines: Iterable[bytes], name: str) -> Iterator[str]:
    r"""Yield lines as text that ends in `\n`; the first loses its byte order mark.

    Example:
        >>> list(decode_lines([b"\xef\xbb\xbfa\r\n", b"b"], "a.sql"))
        ['a\n', 'b']

    Raises:
        EncodingError: as `read_text_file`.
    """
    for number, line in enumerate(lines, 1):
        if number == 1:
            if line.startswith(_UTF_16):
                raise EncodingError(
                    f'file "{name}" is UTF-16, not UTF-8', hint=f"Save {name} as UTF-8."
                )
            line = line.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901 - the same line
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise EncodingError(
                f'file "{name}", line {number}, is not UTF-8: it contains the byte 0x{line[error.start]:02x}',
                hint=f"Save {name} as UTF-8. Line {number} begins: {_shown(line)}",
            ) from error
        stripped = text.removesuffix("\n").removesuffix("\r")
        yield text if stripped == text else f"{stripped}\n"


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()[:_SHOWN_MAX]
    return "".join(one if one.isprintable() else " " for one in text)
