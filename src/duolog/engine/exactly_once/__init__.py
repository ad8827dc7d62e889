"""Exactly-once results: a transaction for each epoch, and fencing of the previous owner."""
