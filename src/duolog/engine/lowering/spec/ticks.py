"""The pseudo-topic of ticks: a Spark source whose offset is a time (the kernel's `TickSource`).

It appears among the topics in Spark's reports and in its log of offsets, but does not exist in
Kafka.
"""

from typing import Final

TICKS: Final = "__ticks"
