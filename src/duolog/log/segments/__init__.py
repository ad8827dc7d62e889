"""Segments of a partition and their indexes: find a record in them, replace some by one."""
