"""`duolog top`: compare metrics snapshots (`snapshots`) and show them as tables (`screen`)."""
