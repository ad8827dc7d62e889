"""The checkpoint of an application: its files, its owner, and the checks that it still fits program and topics."""
