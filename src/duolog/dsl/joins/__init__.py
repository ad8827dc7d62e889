"""The nodes of joins with streams, tables and global tables."""
