"""Operations: what each endpoint does, as functions of a request and the server, without sockets.

    context.py       what operations need of the server
    health.py        alive, ready, healthy
    information.py   version, cluster, properties
    login.py         sessions of browsers
    metrics.py       Prometheus' text

An operation is `async def name(request, context) -> Response | Streamed`; it refuses a request by
raising RequestRefused. What blocks runs by `context.workers.run(function, *arguments)`.
"""
