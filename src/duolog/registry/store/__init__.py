"""The topic `_schemas`: created or checked, read to its end, followed, and written by one process.

    topic.py      one partition, compacted
    follower.py   reads committed records in order, first to the end, then in a thread
    writer.py     appends records in transactions that a newer leader fences
    clients.py    settings of the Kafka clients, and their errors

Records are bytes here; `registry.records` gives them their meaning.
"""
