"""Runs ksqlDB's query tests: JSON lines of cases, each with statements, input records and expected records.

python -m duolog.testing.qtt FILE.jsonl ... [--engine driver|spark] [--shard I/N] [--sample N]
    [--only REGEX] [--report OUT.json] [--page PAGE.md]
"""
