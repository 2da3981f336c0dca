-- whether typing is paused: one row while it is, none otherwise
CREATE TABLE pause (
  id INTEGER PRIMARY KEY CHECK (id = 1), since REAL NOT NULL, by TEXT NOT NULL
);

-- attempts about which something may still be learned: their own stage, or that what they told is over
CREATE INDEX attempts_living ON attempts (seq)
  WHERE stage IN ('claimed', 'typed', 'submitted', 'turn-started', 'seen', 'uncertain');

-- messages that somebody has still to read or be told about
CREATE INDEX messages_living ON messages (seq)
  WHERE state IN ('owed', 'in-hand', 'uncertain', 'expired');
