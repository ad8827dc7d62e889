"""The broker's users: the topic `__security`, logins on connections, and the audit log.

Start reading at `security_service.py`.
"""
