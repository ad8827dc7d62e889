"""Users of the server and their rights.

    client.py           a client, and what it may do
    authentication.py   finds the client of a request: password, token or session
    sessions.py         logins of a browser, by cookie
    server_access.py    users of the cluster, or none

Start reading at `client.py`.
"""
