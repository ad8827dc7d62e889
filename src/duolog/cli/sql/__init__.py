"""`duolog sql`: run statements from a terminal, a pipe or files, and print their results.

    terminal ─▶ terminal (prompt, history, completion) ─┐
    pipe, -e ─▶ statements ─────────────────────────────┴─▶ shell ─▶ script_runner ─▶ engine
                                                                          └─▶ answer_formats (table,
                                                                          json, csv, vertical)

Start with `shell`. `layout`, `lint` and `lineage` process files without a broker.
"""
