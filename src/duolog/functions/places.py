"""The line of a user's code that caused an error: `shop.py:12`."""

import traceback
from pathlib import Path
from typing import Final

_OURS: Final = str(Path(__file__).parent.parent)


def place_in(error: BaseException, file: str | None, *, elsewhere: bool = True) -> str:
    """Return the last line of `file` in the traceback of an error; empty if unknown.

    If the traceback does not contain the file and `elsewhere` is set, return the last line outside
    of Duolog.
    """
    frames = traceback.extract_tb(error.__traceback__)
    at = [frame for frame in frames if frame.filename == file]
    if not at and elsewhere:
        at = [frame for frame in frames if not _is_ours(frame.filename)]
    return f"{Path(at[-1].filename).name}:{at[-1].lineno}" if at else ""


def _is_ours(file: str) -> bool:
    return Path(file).is_relative_to(_OURS)
