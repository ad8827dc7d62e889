"""The commands, one per file. `duolog.cli.main` lists them and imports each when it is called."""
