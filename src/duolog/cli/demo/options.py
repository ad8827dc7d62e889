"""The options of `duolog demo`."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from duolog.runtime.application import Mode
    from duolog.security.clients.brokers import Brokers


class DemoOptions(NamedTuple):
    """Values of the command-line options."""

    data_dir: Path
    mode: "Mode"
    rate: float | None
    limit: int | None
    years: int
    brokers: "Brokers | None"
    """The user's cluster; None to start a broker."""
    settings: dict[str, str]
    broker_settings: dict[str, str]
    format: str = "json"
    registry_arguments: tuple[str, ...] = ()
    """Options by which the registry of the demo logs in to the user's cluster."""
    server: bool = False
    """Run in SQL on `duolog start`."""
