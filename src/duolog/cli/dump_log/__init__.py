"""Read the files of a data directory and report their contents and damage."""
