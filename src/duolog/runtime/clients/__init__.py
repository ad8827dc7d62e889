"""The clients of a Kafka cluster: those that Duolog's brokers report, and producers of any broker.

monitor.py       clients of all brokers, with rates; start here
rates.py         rates between two reports of a broker
producers.py     producers by partition (KIP-664)
"""
