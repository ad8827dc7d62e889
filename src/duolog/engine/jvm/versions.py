"""The versions of Duolog and Spark that write a checkpoint, and whether this Spark can read it."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from duolog.engine.errors import CheckpointMismatch
from duolog.engine.json_object import Json

_DISTRIBUTIONS: Final = {"duolog": "duolog-broker", "pyspark": "pyspark"}


def versions() -> dict[str, str]:
    """Return the running versions of Duolog and of Spark."""
    found = {}
    for name, distribution in _DISTRIBUTIONS.items():
        try:
            found[name] = version(distribution)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def ensure_spark_reads(checkpoint: Path, pinned: Json) -> None:
    """Raise CheckpointMismatch if a newer Spark has written the state, which Spark cannot read."""
    written, running = pinned.get("versions", {}).get("pyspark", ""), versions()["pyspark"]
    if minor_of(written) > minor_of(running):
        raise CheckpointMismatch(
            f"checkpoint {checkpoint} was written with Spark {written}",
            query_id=checkpoint.name,
            detail=f"Spark {running} runs here. Spark reads the state of older versions, but "
            "not of newer ones.",
            hint=f"Use pyspark {written} or later, or another application id.",
        )


def minor_of(version_text: str) -> tuple[int, ...]:
    """Return the first two numbers of a version; an empty tuple if it has none.

    Example:
        >>> minor_of("4.3.0.dev1"), minor_of("unknown")
        ((4, 3), ())
    """
    return tuple(int(part) for part in version_text.split(".")[:2] if part.isdigit())
