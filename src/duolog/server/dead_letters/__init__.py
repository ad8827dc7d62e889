"""Dead letters over HTTP, without HTTP: requests, answers, and what a client may see and do."""
