-- The whole set of records: briefs, reviews, publications, notes, decisions; and on which machine each
-- change was made.

ALTER TABLE journal ADD COLUMN host TEXT NOT NULL DEFAULT '';
CREATE TRIGGER journal_host AFTER INSERT ON journal BEGIN
  UPDATE journal SET host = coalesce((SELECT value FROM meta WHERE key = 'host'), '')
  WHERE seq = NEW.seq;
END;
CREATE INDEX journal_by_task ON journal (task, seq) WHERE task IS NOT NULL;

CREATE INDEX seats_taken ON seats (seq) WHERE pane IS NOT NULL;

CREATE TABLE briefs (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  task TEXT NOT NULL, number INTEGER NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX briefs_task ON briefs (task, number);
CREATE INDEX briefs_owed ON briefs (seq) WHERE state = 'requested';

CREATE TABLE reviews (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  task TEXT NOT NULL, candidate TEXT NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX reviews_owed ON reviews (seq) WHERE state = 'open';
CREATE INDEX reviews_task ON reviews (task, seq);

CREATE TABLE publications (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  task TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX publications_task ON publications (task, seq);

CREATE TABLE task_notes (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  task TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX task_notes_task ON task_notes (task, seq);

CREATE TABLE decisions (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  task TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX decisions_task ON decisions (task, seq);

-- a verification's run id belongs to the record that named it first
CREATE TABLE runs (
  task TEXT NOT NULL, run TEXT NOT NULL, record TEXT NOT NULL,
  PRIMARY KEY (task, run)
) WITHOUT ROWID;
