"""The checkpoint of an application: its files, its owner, and the checks at a start."""
