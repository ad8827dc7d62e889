"""Joins of streams, tables and global tables: the nodes that their methods add to the plan."""
