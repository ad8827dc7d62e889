"""Users, rules and settings for clients of the server: requests, and answers in JSON."""
