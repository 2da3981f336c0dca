-- Tool runs, and the panes that were opened for them. `key` is the caller's terminal with its key.

CREATE TABLE tool_runs (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  state TEXT NOT NULL, owed INTEGER NOT NULL, key TEXT UNIQUE
) WITHOUT ROWID;
CREATE INDEX tool_runs_open ON tool_runs (seq) WHERE state <> 'ended';
CREATE INDEX tool_runs_owed ON tool_runs (seq) WHERE owed = 1;
CREATE INDEX tool_runs_seq ON tool_runs (seq);

CREATE TABLE tool_panes (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  label TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX tool_panes_label ON tool_panes (label);
