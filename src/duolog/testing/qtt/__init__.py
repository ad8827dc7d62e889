"""Runs ksqlDB's query tests: cases in JSON lines, each a script with records in and records expected.

python -m duolog.testing.qtt FILE.jsonl ... [--engine driver|spark] [--shard I/N] [--sample N] [--only REGEX] [--report OUT.json] [--page PAGE.md]
"""
