"""What runs in this process, told to others: to Prometheus over HTTP, to `duolog top` over a socket of this machine.

Start with `rows`: the names of all metrics, and what each is taken from.
"""
