"""Groups of consumers of a Kafka cluster, of all protocols: members, lag, changes of offsets.

connections.py      requests to single brokers; start here
metadata.py         brokers, and leaders of partitions
cluster_groups.py   groups as the cluster lists them, their offsets, and changes
descriptions.py     members and assignments, protocol by protocol
positions.py        ends of partitions, and the age of the first record that is not consumed
lags.py             the lag of groups, measured once
watch.py            samples of lags over the last minutes, of the groups that clients look at
resets.py           new offsets of a reset

Classic groups and those of KIP-848, KIP-932 (share) and KIP-1071 (streams) are read by Kafka's own
requests, so that any cluster answers.
"""
