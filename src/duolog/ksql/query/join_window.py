"""WITHIN …: how far apart in time records of two streams may be to be joined.

    WITHIN 1 MINUTE                        a minute before or after
    WITHIN (1 MINUTE, 2 MINUTES)           from a minute before the left record to two after it
    WITHIN 1 MINUTE GRACE PERIOD 5 SECONDS     as long is waited for late ones, before a record without a partner is told

Without a grace period such a record is told as soon as it comes, and records are kept for a day.

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
    """The window of a join, and if records without a partner are told as soon as they come."""

    window: JoinWindow
    eager: bool


def window_of(node: nodes.Within, *, strict: bool) -> WithinWindow:
    """Return what WITHIN says; with `strict` what was emitted unmatched may be joined later, as in ksqlDB."""
    before, after = (milliseconds(node.args[side]) for side in ("before", "after"))
    said = node.args.get("grace")
    grace = max(_DAY_MS - 2 * before, 0) if said is None else milliseconds(said)
    return WithinWindow(JoinWindow(before, after, grace, again=strict), eager=said is None)
