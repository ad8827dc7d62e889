"""Functions of users, called: values of a record in, a value out, and errors that name the function and its line.

`called.py` calls one, in the processes that `worker.py` is, which the kernel starts; and in tests without any.
"""
