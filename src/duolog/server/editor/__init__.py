"""Checks and completion of statements for editors. Start reading at `text_check`."""
