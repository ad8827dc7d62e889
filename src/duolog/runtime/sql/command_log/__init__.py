"""The command topic, and the catalog replayed from it. Start with `replayed_catalog`."""
