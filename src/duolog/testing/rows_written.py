"""Computes the records of INSERT … VALUES and DELETE with the kernel in memory."""

from typing import Final

from duolog.ksql.statements.inserted_rows import TRIGGER_TOPIC, TRIGGER_VALUE, plan_of_row
from duolog.ksql.statements.state import InsertedRow
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SinkRecord, SourceRecord

WALL_CLOCK_MS: Final = 0
"""The timestamp of rows without one: tests are the same every day."""


def computed(row: InsertedRow) -> list[SinkRecord]:
    """Return the records that represent a row."""
    evaluator = KernelEvaluator(plan_of_row(row), tasks=1, cache_bytes_max=0)
    try:
        trigger = SourceRecord(TRIGGER_TOPIC, 0, 0, WALL_CLOCK_MS, None, TRIGGER_VALUE, ())
        written = evaluator.run([trigger])
    finally:
        evaluator.close()
    return [record._replace(value=None) for record in written] if row.tombstone else written
