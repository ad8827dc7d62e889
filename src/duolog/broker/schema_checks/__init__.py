"""Schema ids of records: which records have which, and which of them a registry knows.

settings.py     the checks of a topic, from its configs
frames.py       the bytes that name a schema
walk.py         the frames of all records in a batch; `alike.py` counts those of one layout,
                `similar.py` those that differ in the size of their values, too
registered.py   answers of the registry, and questions to it on a thread

`produce/schema_verdicts.py` decides with them which batches are refused. See ADR 0120.
"""
