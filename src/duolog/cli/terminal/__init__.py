"""Terminal output of the commands: log lines, tables, JSON and progress."""
