"""The log of one partition: its reader's and its writer's side. Start with `partition_log`."""
