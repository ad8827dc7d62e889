"""Rights that each API needs: one table, and the checks that handlers take from it.

Start reading at `table.py`. Kafka: `AuthHelper`, `KafkaApis`, `ControllerApis`, `AclApis`.
"""
