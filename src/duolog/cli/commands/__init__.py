"""The commands, one file each. `duolog.cli.main` lists them and loads one when it is called."""
