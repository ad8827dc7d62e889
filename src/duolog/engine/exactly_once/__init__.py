"""Transactions of exactly-once: one per epoch, committed with Spark's commit; fencing of the previous owner."""
