"""The options of a start, beyond the plan, its application id and its mode."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # `runtime` creates options before it loads Spark.
    from duolog.engine.settings import ErrorHandling
    from duolog.engine.topics.offsets import EndOffsets
    from duolog.engine.upgrades.upgrade_plan import How


@dataclass(frozen=True, slots=True)
class StartOptions:
    """The differences of one start from what the plan and the engine's settings specify."""

    starts: "EndOffsets | None" = None
    """The start positions of topics at the first start, which override those of their sources."""
    errors: "ErrorHandling | None" = None
    """Overrides the error handling of the engine's settings."""
    upgrade: "How | None" = None
    """Continue with the state of another plan; decides what happens to state that does not fit."""
    exactly_once: bool = False
    """Enables that guarantee, whatever the settings are."""
