"""What the command line of `duolog demo` says."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from duolog.runtime.application import Mode


class DemoOptions(NamedTuple):
    """What the command line says."""

    data_dir: Path
    mode: "Mode"
    rate: float | None
    limit: int | None
    years: int
    bootstrap_servers: str | None
    settings: dict[str, str]
    broker_settings: dict[str, str]
