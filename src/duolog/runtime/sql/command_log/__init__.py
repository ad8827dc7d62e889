"""The command topic, and the catalog and queries that its statements define. Start reading in `replayed_catalog`."""
