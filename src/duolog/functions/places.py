"""Where in a user's code something went wrong: `shop.py:12`."""

import traceback
from pathlib import Path
from typing import Final

_OURS: Final = str(Path(__file__).parent.parent)


def place_in(error: BaseException, file: str | None, *, elsewhere: bool = True) -> str:
    """Return the line of `file` in which an error was raised, or was passed on last; empty where nobody knows.

    Where it never was in that file it is the last line that is not Duolog's, if `elsewhere` is as good.
    """
    frames = traceback.extract_tb(error.__traceback__)
    at = [frame for frame in frames if frame.filename == file]
    if not at and elsewhere:
        at = [frame for frame in frames if not _is_ours(frame.filename)]
    return f"{Path(at[-1].filename).name}:{at[-1].lineno}" if at else ""


def _is_ours(file: str) -> bool:
    return Path(file).is_relative_to(_OURS)
