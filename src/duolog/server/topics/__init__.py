"""Topics for the clients of the server: list, describe, change, browse, follow, write, export."""
