"""SQL that lives on a broker: statements in a command topic, queries on one JVM, answers as rows.

Start with `engine`; `answers` is what it gives, `pull` and `push` answer a SELECT.
"""
