"""The options of `duolog demo`."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from duolog.runtime.application import Mode


class DemoOptions(NamedTuple):
    """Values of the command-line options."""

    data_dir: Path
    mode: "Mode"
    rate: float | None
    limit: int | None
    years: int
    bootstrap_servers: str | None
    settings: dict[str, str]
    broker_settings: dict[str, str]
    format: str = "json"
