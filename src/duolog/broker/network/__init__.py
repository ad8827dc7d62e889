"""Listeners, connections and their limits: bytes in, whole frames to handlers, answers out in order.

Start reading at `connection`. Kafka: `kafka.network.SocketServer`.
"""
