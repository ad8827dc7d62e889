"""The triggers of Spark queries: how often a query starts a micro-batch, or whether it has none."""

from typing import Literal

Trigger = Literal["micro-batch", "available-now", "real-time"]
"""`available-now` reads the records that exist in micro-batches, and then ends."""
