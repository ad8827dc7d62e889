"""`duolog top`: compare metrics snapshots (`snapshots`) and show them as tables (`screen`).

`duolog queries`: figures of a SQL server (`sql_server`) as rows (`queries`).
"""
