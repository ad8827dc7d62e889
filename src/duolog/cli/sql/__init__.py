"""`duolog sql`: statements typed, piped or in files, and what they answer.

    terminal ─▶ terminal (prompt, history, completing) ─┐
    pipe, -e ─▶ statements ─────────────────────────────┴─▶ shell ─▶ running ─▶ engine
                                                                       └─▶ forms (table, json, csv, vertical)

Start with `shell`. `layout`, `linting` and `lineage` look at files and need no broker.
"""
