"""Browse a topic: pages of records in the order of their times, searched and selected by SQL.

log.py        the partitions of a topic, and bounded reads of them
merge.py      the records of all partitions in one order, from a cursor on
budget.py     limits of rows, bytes and seconds
decoding.py   keys and values as text, with the format that was detected
selecting.py  text search, and a SQL predicate over decoded records
pages.py      one page: read, select, and where to continue
"""
