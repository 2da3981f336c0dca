-- Which request an act was; and what retention looks for.

ALTER TABLE journal ADD COLUMN act TEXT NOT NULL DEFAULT '';
-- the machine is written with the line: a second write of each line cost as much as the first
DROP TRIGGER journal_host;

CREATE INDEX named_attempt ON named (attempt);
