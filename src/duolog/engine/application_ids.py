"""What names an application, and so the directory of its checkpoint."""

import re
from pathlib import Path
from typing import Final

from duolog.core.errors import ConfigError
from duolog.engine.checkpoint import Checkpoint

_APPLICATION_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


def checkpoint_of(directory: Path, application_id: str) -> Checkpoint:
    """Return the checkpoint of an application among those in `directory`.

    Raises:
        ConfigError: the name cannot name an application.
    """
    # The name becomes a directory, and Spark's consumers are named after it.
    if not _APPLICATION_ID.fullmatch(application_id):
        raise ConfigError(
            f'"{application_id}" cannot name an application',
            name="application id",
            value=application_id,
            hint="Use letters, digits, underscores, hyphens and dots, not a dot first.",
        )
    # The JVM stands in its scratch directory, where a relative path would be made and removed.
    return Checkpoint((directory / application_id).resolve())
