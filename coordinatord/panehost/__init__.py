"""The embedded pane host: real terminals served over the needed part of Herdr's protocol.

Invariant: a process of its own, so panes survive the daemon; it shows Herdr's shapes and timing, so
that a client tells the two apart only by ``capabilities.coordinatord_panehost``. What differs all
the same stands in ``docs/decisions/0001-embedded-host-differences.md``.

Start with `host` (what there is), then `server` (one request per connection) and the ``methods_*``.
`layout`, `tree`, `agents` and `metadata` are pure; `pane` and `screen` are one terminal.
"""
