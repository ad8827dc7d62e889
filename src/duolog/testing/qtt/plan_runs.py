"""Runs the plan of a query over the records of a case: one by one, each in its own micro-batch."""

from collections.abc import Callable, Iterable

from duolog.engine.settings import OF_SQL
from duolog.plan.nodes import Plan
from duolog.testing.kernel_evaluator import KernelEvaluator
from duolog.testing.reference import SinkRecord, SourceRecord

PlanRun = Callable[[Plan, Iterable[SourceRecord]], list[SinkRecord]]
"""Runs a plan over the records of its topics in order, and returns what it writes, in order."""


def in_memory(plan: Plan, records: Iterable[SourceRecord]) -> list[SinkRecord]:
    """Run a plan in the kernel's driver, without Spark's queries and without a broker.

    Raises:
        QueryError: a record cannot be processed.
    """
    evaluator = KernelEvaluator(plan, tasks=1, cache_bytes_max=0, errors=OF_SQL)
    try:
        return [out for record in records for out in evaluator.run([record])]
    finally:
        evaluator.close()
