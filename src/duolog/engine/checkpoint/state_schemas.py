"""Where Spark finds the schemas of its stores: by whole paths, which a checkpoint that was moved or copied must not keep.

    state/O/_metadata/v2/N      of operator O: a line with a version, then JSON with "stateSchemaFilePaths"
    state/O/_stateSchema/S/F    the schemas themselves

A copy would read the schemas of the directory that it comes from, and write more of them there; where that is gone it does not
start. So a start that owns the checkpoint has these paths lead into it.

Source: Spark `OperatorStateMetadataV2`, `StateStoreMetadataV2`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from duolog.engine.checkpoint.checksums import matches_checksum, write_with_checksum
from duolog.engine.errors import CheckpointDamaged

_PATHS: Final = "stateSchemaFilePaths"
_DIRECTORY: Final = "/_stateSchema/"
_LOCAL: Final = "file:"
_LOST: Final = "It says what the columns of the state are."


def lead_here(directory: Path) -> None:
    """Have all of a checkpoint lead to schemas of its own, where they led elsewhere; its owner calls.

    What cannot be read stays as it is: `ensure_schemas` names it.
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
    """See that Spark can read what its stores are.

    Raises:
        CheckpointDamaged: it cannot.
    """
    for path in _entries(spark_dir, "state"):
        content = _read(path)
        if content is None or not matches_checksum(path):
            raise _failed(path, application_id, "is damaged")
        for stores in content[1]:
            for one in (one for store in stores for one in store.get(_PATHS, ())):
                if not one.startswith(_LOCAL):
                    continue  # Of another file system.
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


def _read(path: Path) -> tuple[str, list[list[dict[str, Any]]], list[Any]] | None:
    """Return its version, the stores of each of its lines, which are parts of the lines, and those; None: it cannot be read."""
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


def _text(lines: list[Any]) -> str:
    return "\n".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)


def _place(path: Path, schema: str) -> Path | None:
    """Return where a schema stands beside an entry; None where the text leads to none."""
    _, found, name = schema.rpartition(_DIRECTORY)
    return Path(f"{path.parents[2].absolute()}{found}{name}") if found else None


def _own(path: Path, schema: str) -> str | None:
    """Return what leads to the schema beside an entry; None where it stays, or is of another file system."""
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
        hint=f"Bring a copy of the checkpoint back, or run `duolog state reset {application_id}` to compute everything "
        "again from the topics.",
    )
