"""JSON-RPC 2.0 on newline-delimited JSON, without input or output.

Invariant: bytes in, messages out, and back; nothing here knows a socket, a clock or a feature.
Start with `jsonrpc.py` (shapes, one line) and `server_side.py` (one connection, as the daemon sees
it); `client_side.py` is the other end, `requests.py` says what a request class is, `lines.py` cuts
bytes into lines.
"""
