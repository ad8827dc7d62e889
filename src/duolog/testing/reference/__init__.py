"""The reference implementation of plans: plain Python, one record at a time, without a JVM.

Tests compare the kernel with it. Start with `evaluator`, which evaluates a plan, and `operators`,
which has one row per kind of node.
"""

from duolog.testing.reference.evaluator import ReferenceEvaluator
from duolog.testing.reference.topic_records import SinkRecord, SourceRecord, latest

__all__ = [
    "ReferenceEvaluator",
    "SinkRecord",
    "SourceRecord",
    "latest",
]
