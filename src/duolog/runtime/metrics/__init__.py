"""Export metrics of this process: to Prometheus over HTTP, and to `duolog top` over a local socket.

Start with `rows`, which defines all metrics.
"""
