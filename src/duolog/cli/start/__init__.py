"""`duolog start`: where its data is, and what its profiles set.

layout.py         the directories and files below `--data`
profiles.py       dev and team: listeners, logins, certificates
server_names.py   the names in a certificate
"""
