"""Server sides of the SASL mechanisms: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER.

Start reading at `exchange.py`.
"""
