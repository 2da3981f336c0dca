"""JSON-RPC 2.0 on newline-delimited JSON, without input or output.

Invariant: bytes in, messages out, and back; nothing here knows a socket, a clock or a feature.
Start with `jsonrpc.py`; `requests.py` says what a request class is; `lines.py` cuts bytes into lines.
"""
