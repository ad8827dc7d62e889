"""Settings of quotas, under Kafka's names."""

from typing import Final

from duolog.core.setting_types import Kind, Setting, at_least
from duolog.core.units import INT32_MAX

QUOTA_ROWS: Final = (
    Setting(
        "quota.window.num",
        default=11,
        kind=Kind.INT,
        doc="The number of windows over which rates of clients and connections are measured.",
        check=at_least(1),
    ),
    Setting(
        "quota.window.size.seconds",
        default=1,
        kind=Kind.INT,
        doc="The length of such a window.",
        check=at_least(1),
    ),
    Setting(
        "controller.quota.window.num",
        default=11,
        kind=Kind.INT,
        doc="The number of windows whose mutations a client may make in one burst, for the quota "
        "controller_mutation_rate.",
        check=at_least(1),
    ),
    Setting(
        "controller.quota.window.size.seconds",
        default=1,
        kind=Kind.INT,
        doc="The length of such a window.",
        check=at_least(1),
    ),
    Setting(
        "max.connection.creation.rate",
        default=INT32_MAX,
        kind=Kind.INT,
        doc="The maximum number of new connections per second, of all clients together. Further "
        "connections wait to be accepted.",
        check=at_least(0),
    ),
)
