"""Groups of consumers for clients of the server: requests, rights, and answers."""
