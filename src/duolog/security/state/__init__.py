"""Users, rights, roles and tokens, replayed from the records of `__security`.

Start reading at `security_state.py`.
"""
