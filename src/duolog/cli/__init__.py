"""The command `duolog`: options, commands and their output on the terminal.

    main ─▶ commands ─▶ demo, dump_log, sql, top ─▶ records ─▶ applications ─▶ kafka ─▶ terminal ─▶
    text

Start with `main`. A command is imported when it is called, so that every command starts quickly.
Standard output carries data, standard error carries messages.
"""
