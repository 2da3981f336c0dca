-- What the store itself keeps; the features' tables follow in later files.

CREATE TABLE journal (
  seq   INTEGER PRIMARY KEY AUTOINCREMENT,
  at    REAL NOT NULL,
  kind  TEXT NOT NULL,
  id    TEXT NOT NULL,
  task  TEXT,
  seat  TEXT,
  actor TEXT NOT NULL,
  proof TEXT NOT NULL
);
CREATE INDEX journal_by_id ON journal (id);

CREATE TABLE taken_ids (id TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE keys (
  method    TEXT NOT NULL,
  scope     TEXT NOT NULL,
  key       TEXT NOT NULL,
  body_hash BLOB NOT NULL,
  answer    BLOB NOT NULL,
  at        REAL NOT NULL,
  PRIMARY KEY (method, scope, key)
);
CREATE INDEX keys_by_age ON keys (at);

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
