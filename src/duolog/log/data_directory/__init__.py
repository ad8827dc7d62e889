"""The data directory: its lock and format, its topics, the last start in it, and its health."""
