-- Record tables: id, seq (order), body (the record as JSON), and the columns that open work is found by.
-- Partial indexes keep the cost of deriving what is owed independent of closed history.

CREATE TABLE seats (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  pane TEXT, terminal TEXT
) WITHOUT ROWID;

CREATE TABLE tasks (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  state TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX tasks_active ON tasks (seq) WHERE state = 'active';

CREATE TABLE questions (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  task TEXT NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX questions_owed ON questions (seq) WHERE state IN ('open', 'answered');
CREATE INDEX questions_task ON questions (task, seq);

CREATE TABLE messages (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  recipient TEXT NOT NULL, state TEXT NOT NULL, expires REAL
) WITHOUT ROWID;
CREATE INDEX messages_owed ON messages (recipient, seq) WHERE state = 'owed';

CREATE TABLE reports (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  task TEXT NOT NULL, state TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX reports_owed ON reports (seq) WHERE state = 'unverified';
CREATE INDEX reports_task ON reports (task, seq);

CREATE TABLE verifications (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  task TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX verifications_task ON verifications (task, seq);

CREATE TABLE attempts (
  id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
  seat TEXT NOT NULL, stage TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX attempts_open ON attempts (seq) WHERE stage IN ('claimed', 'typed');
CREATE INDEX attempts_seat ON attempts (seat, seq);

-- how far telling a seat about an obligation has come, one row each; `binding` is the seat's
CREATE TABLE told (
  obligation TEXT NOT NULL, seat TEXT NOT NULL, binding INTEGER NOT NULL,
  attempt TEXT NOT NULL, stage TEXT NOT NULL, failures INTEGER NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (obligation, seat)
) WITHOUT ROWID;

-- which attempts named an obligation, for the record's own history
CREATE TABLE named (
  record TEXT NOT NULL, attempt TEXT NOT NULL,
  PRIMARY KEY (record, attempt)
) WITHOUT ROWID;

CREATE TABLE holds (
  seat TEXT PRIMARY KEY, reason TEXT NOT NULL, since REAL NOT NULL, detail TEXT
) WITHOUT ROWID;

-- a launch token is kept as its SHA-256 only
CREATE TABLE launches (
  token TEXT PRIMARY KEY, key TEXT NOT NULL, at REAL NOT NULL,
  pane TEXT, terminal TEXT, typed INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX launches_key ON launches (key);
CREATE INDEX launches_terminal ON launches (terminal);
