"""Upgrade a data directory from format 1 to format 2: each small file gets a checksum.

In format 1, some files started with a checksum of their own, and most had none. Their contents do
not change. The file that states the format of the data directory is written last, so that an
interrupted upgrade is completed at the next start.
"""

import logging
from collections.abc import Callable
from typing import Final

from crc32c import crc32c

from duolog.log.checkpoints.cleaner_checkpoint import CHECKPOINT_FILE_NAME
from duolog.log.checkpoints.log_start import START_FILE_NAME
from duolog.log.checkpoints.recovery_point import EPOCHS_FILE_NAME, POINT_FILE_NAME
from duolog.log.data_directory.topics import TOPIC_FILE_NAME, TOPICS_DIRECTORY
from duolog.log.errors import DamagedFile
from duolog.log.files.checked_file import decode_checked, encode_checked
from duolog.log.files.disk import Disk, read_file
from duolog.log.segments.segment_swap import SWAP_FILE_NAME

logger = logging.getLogger(__name__)

_LEADER_EPOCH: Final = "leader-epoch"
_CLEAN_SHUTDOWN: Final = "clean-shutdown"
_TOPIC_JSON: Final = "topic.json"
_ROOT_FILES: Final = (_LEADER_EPOCH, "producer-ids", "client-quotas", "dynamic-configs")
_CRC_BYTES: Final = 4
_FORMAT_BYTES: Final = 2


def _as_it_is(data: bytes) -> bytes | None:
    return data


def _without_head(form: int) -> Callable[[bytes], bytes | None]:
    """Return a function that removes checksum and format, or returns None if they are wrong."""

    def content(data: bytes) -> bytes | None:
        head, body = data[:_CRC_BYTES], data[_CRC_BYTES:]
        right = head == crc32c(body).to_bytes(_CRC_BYTES, "big")
        right = right and body[:_FORMAT_BYTES] == form.to_bytes(_FORMAT_BYTES, "big")
        return body[_FORMAT_BYTES:] if right else None

    return content


_PARTITION_FILES: Final = {
    START_FILE_NAME: _as_it_is,
    CHECKPOINT_FILE_NAME: _as_it_is,
    EPOCHS_FILE_NAME: _as_it_is,
    POINT_FILE_NAME: _without_head(2),
    SWAP_FILE_NAME: _without_head(1),
}


def upgrade(disk: Disk, data_dir: str) -> None:
    """Give the small files of `data_dir` their checksums; `meta.properties` is the caller's.

    Raises:
        OSError: the disk refused.
    """
    logger.info("bringing the data directory to the second format", extra={"directory": data_dir})
    names = disk.list(data_dir)
    if _CLEAN_SHUTDOWN in names:  # It says of which start it is from now on.
        epoch = read_file(disk, f"{data_dir}/{_LEADER_EPOCH}") or b""
        _replace(disk, data_dir, _CLEAN_SHUTDOWN, _content_of(_LEADER_EPOCH, epoch))
    _convert(disk, data_dir, dict.fromkeys(_ROOT_FILES, _as_it_is))
    for topic in disk.list(f"{data_dir}/{TOPICS_DIRECTORY}"):
        directory = f"{data_dir}/{TOPICS_DIRECTORY}/{topic}"
        names = disk.list(directory)
        if f"{_TOPIC_JSON}.tmp" in names:  # A crash cut off the creation, or a change.
            disk.remove(f"{directory}/{_TOPIC_JSON}.tmp")
        for partition in filter(str.isdigit, names):
            _convert(disk, f"{directory}/{partition}", _PARTITION_FILES)
        described = read_file(disk, f"{directory}/{_TOPIC_JSON}")
        if described is not None:
            _replace(disk, directory, TOPIC_FILE_NAME, described)
            disk.sync_dir(directory)
            disk.remove(f"{directory}/{_TOPIC_JSON}")


def _convert(disk: Disk, directory: str, forms: dict[str, Callable[[bytes], bytes | None]]) -> None:
    for name in set(forms).intersection(disk.list(directory)):
        data = read_file(disk, f"{directory}/{name}") or b""
        if _is_checked(name, data):
            continue
        content = forms[name](data)
        if content is None:  # It counted as none before, too.
            disk.remove(f"{directory}/{name}")
        else:
            _replace(disk, directory, name, content)
    disk.sync_dir(directory)


def _is_checked(name: str, data: bytes) -> bool:
    try:
        decode_checked(name, data)
    except DamagedFile:
        return False
    return True


def _content_of(name: str, data: bytes) -> bytes:
    return decode_checked(name, data) if _is_checked(name, data) else data


def _replace(disk: Disk, directory: str, name: str, content: bytes) -> None:
    """Put a file in place of another; its name is durable after a sync of the directory."""
    file = disk.open(f"{directory}/{name}.tmp", create=True)
    try:
        file.truncate(0)
        file.append([encode_checked(name, content)])
        file.sync()
    finally:
        file.close()
    disk.rename(f"{directory}/{name}.tmp", f"{directory}/{name}")
