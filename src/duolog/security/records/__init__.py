"""The records of the internal compacted topic `__security`.

Start reading at `records.py`.
"""
