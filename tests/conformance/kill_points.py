"""Kill this process with SIGKILL at a stage of its backup."""

import os
import signal
from typing import Any

from duolog.log.backup import packs, progress, repository


def kill_at(stage: str) -> None:
    """Arrange for the kill: in the midst of a pack, after progress, or after the manifest."""
    repository.SAVE_BYTES = 300_000  # type: ignore[misc]
    if stage == "packs":
        _before(packs.PackWriter, "sync")
    elif stage == "progress":
        _after(progress.Progress, "save")
    else:
        _after(repository, "write_manifest")


def _before(owner: Any, name: str) -> None:
    def killed(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, killed)


def _after(owner: Any, name: str) -> None:
    original = getattr(owner, name)

    def killed(*words: Any) -> None:
        original(*words)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, killed)
