"""Producers of a partition: their sequence numbers, and open and aborted transactions."""
