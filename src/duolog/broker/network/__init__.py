"""Listeners, connections and limits: bytes in, frames to handlers, answers out in order.

Start reading at `connection`. Kafka: `kafka.network.SocketServer`.
"""
