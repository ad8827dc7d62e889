"""Where Duolog keeps data by default.

Source: the XDG Base Directory Specification.
"""

import os
from pathlib import Path


def default_data_dir(name: str) -> Path:
    """Return `$XDG_DATA_HOME/duolog/<name>`, by default below `~/.local/share`."""
    home = os.environ.get("XDG_DATA_HOME") or ""
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "duolog" / name
