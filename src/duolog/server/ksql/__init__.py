"""ksqlDB's protocol without HTTP: request bodies to statements, their results to entities.

Start reading in `statements` (the /ksql endpoint) and `selects` (/query and /query-stream).
"""
