"""One leader among the registries of a group, and how the others find it.

election.py    a member of an ordinary consumer group: the owner of partition 0 is the leader
leaders.py     asks the group for its leader's URL
forwarding.py sends a request to the leader
"""
