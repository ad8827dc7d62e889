"""What stands for the topic of ticks: a source of Spark's whose offset is a time (the kernel's `TickSource`).

It stands among the topics in Spark's reports and in its log of offsets. No broker knows it.
"""

from typing import Final

TICKS: Final = "__ticks"
