"""Map an application id to the directory of its checkpoint."""

from pathlib import Path

from duolog.core.names import ensure_application_id
from duolog.engine.checkpoint.checkpoint import Checkpoint


def checkpoint_of(directory: Path, application_id: str) -> Checkpoint:
    """Return the checkpoint of an application among those in `directory`.

    Raises:
        ConfigError: the name is not a valid application id.
    """
    # The name becomes a directory name and part of the names of Spark's consumers.
    ensure_application_id(application_id)
    # Resolved, because the JVM's working directory is its scratch directory, which is removed at
    # the end.
    return Checkpoint((directory / application_id).resolve())
