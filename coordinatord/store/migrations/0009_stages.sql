-- `coordctl status` counts attempts by stage: not by reading each of them.

CREATE INDEX attempts_stage ON attempts (stage);
