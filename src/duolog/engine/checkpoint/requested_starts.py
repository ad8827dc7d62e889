"""The start positions that a user requested for the first start with `duolog state reset`.

    CHECKPOINTS/<application id>/starts.json
    {"fingerprint": "…", "starts": {"orders": {"0": 310}}}

Only the first start reads them; `application.json` replaces them. In files of older versions the
starts are the whole content.
"""

import json
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.checkpoint_files import damaged, fingerprint, read_json, writing
from duolog.engine.checkpoint.checkpoint_positions import as_kept, starts_in
from duolog.engine.checkpoint.durable import make_durable_dir, write_durably
from duolog.engine.topics.offsets import EndOffsets

STARTS_FILE: Final = "starts.json"
_LOST: Final = "It records where the first start should begin."


def read_starts(directory: Path) -> dict[str, dict[int, int]]:
    """Return the requested start positions; only topics that the user has moved.

    Raises:
        CheckpointDamaged: the file does not match its fingerprint.
    """
    path = directory / STARTS_FILE
    if not path.is_file():
        return {}
    kept = read_json(path, directory.name)
    told = kept.get("fingerprint")
    starts = kept if isinstance(told, dict) or told is None else kept.get("starts")
    try:
        found = starts_in({"starts": starts})
    except (AttributeError, TypeError, ValueError):
        found = None
    offsets = [offset for of in (found or {}).values() for offset in of.values()]
    if (
        found is None
        or not all(isinstance(offset, int) for offset in offsets)
        or (starts is not kept and told != fingerprint(starts))
    ):
        hint = f"Run `duolog state reset {directory.name}` with the same options again."
        raise damaged(path, directory.name, _LOST, hint)
    return found


def write_starts(directory: Path, starts: EndOffsets) -> None:
    """Store the start positions of the first start.

    Raises:
        CheckpointNotWritable: this user may not write there, or there is no space.
    """
    kept = as_kept(starts)
    content = {"fingerprint": fingerprint(kept), "starts": kept}
    with writing(directory, directory.name):
        make_durable_dir(directory)
        write_durably(directory / STARTS_FILE, json.dumps(content))
