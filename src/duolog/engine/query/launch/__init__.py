"""Launch one Spark query: sources, triggers, transactions and settings. Start with `launcher`."""
