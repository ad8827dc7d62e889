"""The registry's HTTP interface, without any rule of the registry.

    server.py        listens, counts connections, stops in order
    protocol.py      bytes to requests and back, with limits
    messages.py      a request, a response
    gate.py          what every request passes: Host, authentication, route, types, body
    routes.py        all endpoints
    paths.py, parameters.py, media_types.py, bodies.py, hosts.py
    wire.py          a response as bytes; errors

Start with gate.py.
"""
