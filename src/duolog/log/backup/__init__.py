"""Backs up a data directory, also while its broker runs, and restores it elsewhere.

    data directory ──► Cut (where each log ends at one moment) ──► copies ──► Repository
    new data directory ◄── restore ◄── Backup ◄───────────────────────────────┘

Start reading with `cut`, then `repository`, which has the files of a backup directory.
See docs/adr/0132-back-up-by-one-cut-of-all-logs.md.
"""
