"""What names an application, and so the directory of its checkpoint."""

from pathlib import Path

from duolog.core.names import ensure_application_id
from duolog.engine.checkpoint.checkpoint import Checkpoint


def checkpoint_of(directory: Path, application_id: str) -> Checkpoint:
    """Return the checkpoint of an application among those in `directory`.

    Raises:
        ConfigError: the name cannot name an application.
    """
    # The name becomes a directory, and Spark's consumers are named after it.
    ensure_application_id(application_id)
    # The JVM stands in its scratch directory, where a relative path would be made and removed.
    return Checkpoint((directory / application_id).resolve())
