"""Runs ksqlDB's query tests: JSON lines of cases with statements, inputs and expected records.

python -m duolog.testing.qtt FILE.jsonl ... [--engine driver|spark] [--shard I/N] [--sample N]
    [--only REGEX] [--report OUT.json] [--page PAGE.md]
"""
