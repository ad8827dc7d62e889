"""The HTTP side of the server, on Starlette and uvicorn (ADR 0129).

    routes.py        ONE table of all endpoints
    gate.py          what every request passes: sizes, Host and Origin, login, body, access log
    application.py   binds the operations of the table
    server.py        listens, and stops in order
    connections.py   HTTP/1.1 and HTTP/2 on one port, with limits of time and size
    http1.py, http2.py, websocket.py

Start reading at `routes.py`.
"""
