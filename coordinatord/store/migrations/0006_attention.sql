-- Alerts, wake episodes and what shadow mode would have typed.

CREATE TABLE attention (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  task TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX attention_open ON attention (seq) WHERE state = 'open';
CREATE INDEX attention_task ON attention (task, seq);

CREATE TABLE episodes (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  seat TEXT NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX episodes_outstanding ON episodes (seat, seq) WHERE state = 'outstanding';

CREATE TABLE shadows (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  seat TEXT NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX shadows_seat ON shadows (seat, seq);
