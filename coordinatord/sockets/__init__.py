"""Unix sockets that are safe to own: the lock, the private bind, the peer, bounded output.

Invariant: only the holder of the lock removes a socket, and only its own; facts about a peer are
facts, what they prove is decided elsewhere. Used by the daemon's server and by the embedded pane
host. Start with `lock.py`, then `bind.py`.
"""
