"""One read of a topic for many push queries. Start reading at `shared_readers`."""
