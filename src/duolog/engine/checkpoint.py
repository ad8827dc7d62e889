"""What the first start fixes for an application, kept beside Spark's checkpoint.

    CHECKPOINTS/<application id>/application.json   tasks, the shape of the plan, versions
    CHECKPOINTS/<application id>/spark/             Spark's: offsets, commits, state

The number of tasks decides where a key's state lies, and the shape of the plan decides what the
state means; a checkpoint of another shape would be read as if it were this one's. So both are
pinned at the first start and compared at each later one.

The shape leaves out what state does not depend on: predicates, projections, results and sinks may
change between two starts.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from duolog.engine.errors import CheckpointMismatch
from duolog.engine.lowering.tables import store_of
from duolog.plan.describe import describe_node
from duolog.plan.levels import Levels
from duolog.plan.nodes import (
    AggregateNode,
    StreamTableJoin,
    TableSource,
    ancestors,
    has_store,
)
from duolog.plan.types import render_columns

FORMAT_VERSION: Final = 1
PIN_FILE: Final = "application.json"
SPARK_DIR: Final = "spark"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint directory of one application."""

    directory: Path

    @property
    def spark_dir(self) -> Path:
        return self.directory / SPARK_DIR

    def pinned_tasks(self) -> int | None:
        """Return the number of tasks that the first start chose; None before it."""
        pin = self._read()
        return None if pin is None else int(pin["tasks"])

    def pin(self, application_id: str, shape: Json, versions: dict[str, str]) -> None:
        """Fix `shape` at the first start; compare it at each later one.

        Raises:
            CheckpointMismatch: the checkpoint belongs to another shape or number of tasks.
        """
        pinned = self._read()
        if pinned is None:
            self._write({"tasks": shape["tasks"], "shape": shape, "versions": versions})
            return
        difference = first_difference(pinned["shape"], shape)
        if difference:
            raise CheckpointMismatch(
                f'the topology of application "{application_id}" has changed since its '
                "checkpoint was written",
                query_id=application_id,
                detail=f"{difference} Checkpoint: {self.directory}.",
                hint="Undo the change, or start it under another application id, "
                "or remove the checkpoint to compute everything again from the topics.",
            )

    def committed_positions(self) -> dict[str, dict[int, int]]:
        """Return the offset that each source partition is to be read from, as Spark has committed it.

        Empty before the first commit, and where Spark's log cannot be read: it is for showing only.
        """
        try:
            last = max(
                int(path.name)
                for path in (self.spark_dir / "commits").iterdir()
                if path.name.isdigit()
            )
            lines = (self.spark_dir / "offsets" / str(last)).read_text().splitlines()
            # A version, metadata, then a line for each source; "-" where it has nothing yet.
            sources = [json.loads(line) for line in lines[2:] if line.startswith("{")]
        except (OSError, ValueError):
            return {}
        positions: dict[str, dict[int, int]] = {}
        for topic, partitions in (item for source in sources for item in source.items()):
            furthest = positions.setdefault(topic, {})
            for partition, offset in partitions.items():
                furthest[int(partition)] = max(int(offset), furthest.get(int(partition), 0))
        return positions

    def _read(self) -> Json | None:
        path = self.directory / PIN_FILE
        if not path.is_file():
            return None
        pin: Json = json.loads(path.read_text())
        if pin["format"] > FORMAT_VERSION:
            raise CheckpointMismatch(
                f"checkpoint {self.directory} was written by a newer Duolog",
                detail=f"Its format is {pin['format']}; this Duolog reads {FORMAT_VERSION}.",
                hint="Use the newer Duolog, or another checkpoint directory.",
            )
        return pin

    def _write(self, pin: Json) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        content = {"format": FORMAT_VERSION, "fingerprint": fingerprint(pin["shape"])} | pin
        arriving = self.directory / f".{PIN_FILE}.new"
        with arriving.open("w") as file:
            json.dump(content, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        arriving.replace(self.directory / PIN_FILE)


def shape_of(levels: Levels) -> Json:
    """Return the part of a plan that state depends on."""
    stores: dict[str, Json] = {
        node.store: {"sub-topology": part.id, "level": part.level} | _store_shape(node)
        for part in levels.subtopologies
        for node in part.nodes
        if has_store(node)
    }
    for join in levels.plan.nodes:
        if isinstance(join, StreamTableJoin) and not isinstance(join.table, TableSource):
            above = ancestors(join.table)
            stores[store_of(join.table)] = {"rows": "; ".join(map(describe_node, above))}
    return {
        "tasks": levels.tasks,
        # Spark knows a source by its place among the sources.
        "sources": [ingress.source.topic for ingress in levels.ingresses],
        "levels": len(levels.levels),
        "stores": stores,
    }


def _store_shape(node: TableSource | AggregateNode) -> Json:
    key = ", ".join(str(column.type) for column in node.schema.key)
    if isinstance(node, TableSource):
        return {"key": key, "row": render_columns(node.schema.value)}
    return {
        "key": key,
        "group": ", ".join(str(expression) for _, expression in node.group.keys),
        "accumulators": {
            f"{kept.name} {kept.type}": f"{kept.initial}; {kept.add}; {kept.subtract}"
            for kept in node.accumulators
        },
    }


def fingerprint(shape: Json) -> str:
    """Return a short name for a shape; equal shapes have equal names."""
    return hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:16]


def first_difference(pinned: object, now: object, path: str = "") -> str:
    """Say where two shapes differ first, or return an empty text.

    Example:
        >>> first_difference({"tasks": 2}, {"tasks": 3})
        'tasks was 2 and is 3.'
    """
    if isinstance(pinned, dict) and isinstance(now, dict):
        names = [*pinned, *(name for name in now if name not in pinned)]
        parts = ((name, pinned.get(name), now.get(name)) for name in names)
    elif isinstance(pinned, list) and isinstance(now, list) and len(pinned) == len(now):
        parts = ((str(i), old, new) for i, (old, new) in enumerate(zip(pinned, now, strict=True)))
    else:
        return "" if pinned == now else f"{path} was {pinned} and is {now}."
    found = (
        first_difference(old, new, f"{path}.{name}" if path else str(name))
        for name, old, new in parts
    )
    return next((text for text in found if text), "")
