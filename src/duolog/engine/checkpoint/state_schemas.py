"""Repair the absolute paths of Spark's state schemas after a checkpoint was moved or copied.

    state/O/_metadata/v2/N      of operator O: a line with a version, then JSON with
                                "stateSchemaFilePaths"
    state/O/_stateSchema/S/F    the schemas themselves

A copy would read the schemas in the directory it was copied from, and write more of them there; if
that directory is gone it does not start. So a start that owns the checkpoint rewrites these paths
to point into it.

Source: Spark `OperatorStateMetadataV2`, `StateStoreMetadataV2`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from duolog.engine.checkpoint.checksums import matches_checksum, write_with_checksum
from duolog.engine.errors import CheckpointDamaged
from duolog.engine.json_object import Json

_PATHS: Final = "stateSchemaFilePaths"
_DIRECTORY: Final = "/_stateSchema/"
_LOCAL: Final = "file:"
_LOST: Final = "It describes the columns of the state."


def relocate_schemas(directory: Path) -> None:
    """Rewrite the schema paths of a checkpoint that point elsewhere; only its owner may call this.

    Unreadable files are left as they are: `ensure_schemas` reports them.
    """
    for path in _entries(directory, "*/state"):
        content = _read(path)
        if content is None or not matches_checksum(path):
            continue
        changed = False
        for stores in content[1]:
            for store in stores:
                own = [_own(path, one) or one for one in store.get(_PATHS, ())]
                changed |= own != store.get(_PATHS, [])
                store |= {_PATHS: own}
        if changed:
            write_with_checksum(path, content[0] + "\n" + _text(content[2]))


def ensure_schemas(spark_dir: Path, application_id: str) -> None:
    """Check that Spark can read the schemas of its stores.

    Raises:
        CheckpointDamaged: a schema is missing or damaged.
    """
    for path in _entries(spark_dir, "state"):
        content = _read(path)
        if content is None or not matches_checksum(path):
            raise _failed(path, application_id, "is damaged")
        for stores in content[1]:
            for one in (one for store in stores for one in store.get(_PATHS, ())):
                if not one.startswith(_LOCAL):
                    continue  # On another file system.
                place = _place(path, one)
                if place is None:
                    raise _failed(path, application_id, "is damaged")
                if not place.exists():
                    raise _failed(place, application_id, "is missing")
                if place.stat().st_size == 0 or not matches_checksum(place):
                    raise _failed(place, application_id, "is damaged")


def _entries(directory: Path, state: str) -> Iterator[Path]:
    for path in sorted(directory.glob(f"{state}/*/_metadata/v2/[0-9]*")):
        if path.name.isdigit():
            yield path


def _read(path: Path) -> tuple[str, list[list[Json]], list[Json]] | None:
    """Return the version, the stores in each line (parts of it), and the lines.

    None if the file is unreadable.
    """
    try:
        version, *lines = path.read_text().splitlines()
        parsed = [json.loads(line) for line in lines]
        stores = [line["stateStoreInfo"] for line in parsed]
        for store in (store for one in stores for store in one):
            if not all(isinstance(one, str) for one in store.get(_PATHS, ())):
                return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return (version, stores, parsed) if parsed and version.startswith("v") else None


def _text(lines: list[Json]) -> str:
    return "\n".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)


def _place(path: Path, schema: str) -> Path | None:
    """Return the path of a schema next to an entry; None if the text has no such path."""
    _, found, name = schema.rpartition(_DIRECTORY)
    return Path(f"{path.parents[2].absolute()}{found}{name}") if found else None


def _own(path: Path, schema: str) -> str | None:
    """Return the rewritten path of a schema.

    None if it need not change, or is on another file system.
    """
    place = _place(path, schema)
    if place is None or not schema.startswith(_LOCAL) or not place.exists():
        return None
    there = Path(schema.removeprefix(_LOCAL))
    if there.exists() and there.samefile(place):
        return None
    return f"{_LOCAL}{place}"


def _failed(path: Path, application_id: str, what: str) -> CheckpointDamaged:
    return CheckpointDamaged(
        f'file "{path}" of application "{application_id}" {what}',
        query_id=application_id,
        detail=_LOST,
        hint=f"Restore the checkpoint from a backup, or run `duolog state reset {application_id}` "
        "to compute everything again from the topics.",
    )
