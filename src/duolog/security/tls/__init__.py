"""TLS for servers: keys and certificates from PEM, contexts that follow their files, transport.

    settings ─▶ pem ─▶ contexts ─▶ reloading      (files and texts to an `ssl.SSLContext`)
                                       │
                socket ◀─ ciphertext ─ transport ─ plaintext ─▶ connection

Start reading at `transport.py`. Only TLS 1.2 and 1.3 are spoken, without renegotiation.
"""
