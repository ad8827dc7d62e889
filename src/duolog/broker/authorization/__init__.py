"""What each API asks of the authorizer: one table, and the checks that handlers take from it.

Start reading at `table.py`. Kafka: `AuthHelper`, `KafkaApis`, `ControllerApis`, `AclApis`.
"""
