"""Plan WITHIN …: the maximal time difference of records in a stream-stream join.

    WITHIN 1 MINUTE                          one minute before or after
    WITHIN (1 MINUTE, 2 MINUTES)             from one minute before the left record to two after it
    WITHIN 1 MINUTE GRACE PERIOD 5 SECONDS   wait 5 s for late records, then emit unmatched ones

Without a grace period, unmatched records are emitted immediately, and records are stored for a day.

Source: Kafka Streams `JoinWindows.of`, ksqlDB's documentation of joins.
"""

from dataclasses import dataclass
from typing import Final

from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.durations import milliseconds
from duolog.plan.windows.join_window import JoinWindow

_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class WithinWindow:
    """Window of a join; if `eager`, unmatched records are emitted immediately."""

    window: JoinWindow
    eager: bool


def window_of(node: nodes.Within, *, strict: bool) -> WithinWindow:
    """Return the window of WITHIN.

    With `strict`, an unmatched record may match later, as in ksqlDB.
    """
    before, after = (milliseconds(node.args[side]) for side in ("before", "after"))
    said = node.args.get("grace")
    grace = max(_DAY_MS - 2 * before, 0) if said is None else milliseconds(said)
    return WithinWindow(JoinWindow(before, after, grace, again=strict), eager=said is None)
