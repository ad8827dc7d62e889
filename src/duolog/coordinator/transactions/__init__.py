"""Transactions as replayed state machines, one for each transactional id; see `coordinator`."""
