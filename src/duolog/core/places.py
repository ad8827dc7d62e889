"""Find the position in the user's code that called the DSL, such as `topology.py:12`."""

import inspect
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

_OURS: Final = "duolog"
_FRONT_END: Final = "duolog.dsl"
"""The package whose functions users call to define a topology."""


def calling_place() -> str:
    """Return the file and line of the user's code that called the DSL; empty if there is none.

    The path of a file in the working directory is relative to it.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_back is not None:
        if _in(frame, _FRONT_END) and not _in(frame.f_back, _OURS):
            return f"{_short(frame.f_back.f_code.co_filename)}:{frame.f_back.f_lineno}"
        frame = frame.f_back
    return ""


def _in(frame: FrameType, package: str) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name == package or name.startswith(f"{package}.")


def _short(filename: str) -> str:
    # ValueError: the file is elsewhere. OSError: the working directory was deleted.
    with suppress(ValueError, OSError):
        return str(Path(filename).relative_to(Path.cwd()))
    return filename
