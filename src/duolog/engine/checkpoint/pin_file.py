"""The file `application.json`: what the first start fixes, and an upgrade changes.

    format        2, see FORMAT_VERSION
    fingerprint   a digest of all other fields
    shape         the layouts of the stores, see `store_layouts`
    tasks         the number of tasks
    versions      of Duolog and Spark at the first start
    topics        the id of each source topic
    starts        start positions of topics that were not read from their first record
    written       the topics that the application has written
    shuffles      true if records reach their tasks only by a shuffle
    takes_over    query and epoch of another query's results that this one continues after
    committed     the name of Spark's directory, once anything was committed to it
    changelog     see `generations`; missing without changelogs
    state         the name of Spark's directory; "spark" if missing
    first         start positions of the very first start, after an upgrade
    before, initial, logs   see `pending_upgrade`

Fields that do not apply are missing. The content can also be stored elsewhere (`commit_topic`).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.checkpoint_files import (
    damaged,
    fingerprint,
    other_format,
    read_json,
    restore_or_reset_hint,
    writing,
)
from duolog.engine.checkpoint.durable import make_durable_dir, write_durably
from duolog.engine.checkpoint.shape_difference import bound
from duolog.engine.json_object import Json

FORMAT_VERSION: Final = 2  # Raised with this file's form or with the bytes of the kernel's stores.
PIN_FILE: Final = "application.json"
SPARK_DIR: Final = "spark"
_OF_FILE: Final = ("format", "fingerprint")


@dataclass(frozen=True, slots=True)
class PinFile:
    """The pinned facts of the application in a directory."""

    directory: Path

    @property
    def path(self) -> Path:
        return self.directory / PIN_FILE

    def read(self) -> Json | None:
        """Return the pinned facts; None before the first start.

        Raises:
            CheckpointDamaged: the file is not JSON, or does not match its fingerprint.
            CheckpointMismatch: another version of Duolog wrote it.
        """
        if not self.path.is_file():
            return None
        pin = read_json(self.path, self.directory.name)
        found = pin.get("format", FORMAT_VERSION)
        if isinstance(found, int) and found != FORMAT_VERSION:
            raise other_format(self.directory, FORMAT_VERSION, found)
        if pin.pop("fingerprint", "") != fingerprint(pin):
            raise damaged(
                self.path,
                self.directory.name,
                "Its content does not match its fingerprint.",
                restore_or_reset_hint(self.directory.name),
            )
        return pin

    def write(self, pin: Json) -> None:
        """Replace the pinned facts.

        Raises:
            CheckpointNotWritable: this user may not write there, or there is no space.
        """
        content = {"format": FORMAT_VERSION, **pin, "shape": bound(pin["shape"])}
        content["fingerprint"] = fingerprint(content)
        with writing(self.directory, self.directory.name):
            make_durable_dir(self.directory)
            write_durably(self.path, json.dumps(content, indent=1, sort_keys=True))

    def content(self) -> Json | None:
        """Return the pinned facts with their format, to be stored elsewhere; None without any.

        Raises:
            CheckpointDamaged, CheckpointMismatch: as `read`.
        """
        pinned = self.read()
        return None if pinned is None else {"format": FORMAT_VERSION, **pinned}

    def replace_content(self, content: Json) -> None:
        """Replace the pinned facts by what `content` returned.

        Raises:
            CheckpointMismatch: another version of Duolog wrote it.
            CheckpointNotWritable: as `write`.
        """
        self.ensure_format(content)
        self.write({name: of for name, of in content.items() if name not in _OF_FILE})

    def ensure_format(self, content: Json) -> None:
        """Raise CheckpointMismatch if `content` has another format version."""
        found = content.get("format")
        if found != FORMAT_VERSION:
            raise other_format(self.directory, FORMAT_VERSION, int(found or 0))

    def spark_dir(self, pin: Json) -> Path:
        """Return Spark's directory that these facts name."""
        return self.directory / str(pin.get("state", SPARK_DIR))
