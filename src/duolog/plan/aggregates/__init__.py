"""Aggregate functions as folds: accumulators, the steps that update them, and results.

Start with `aggregates`, which builds the fold of every aggregate function.
"""

from duolog.plan.aggregates.aggregates import (
    Fold,
    custom_fold,
    fold,
)

__all__ = [
    "Fold",
    "custom_fold",
    "fold",
]
