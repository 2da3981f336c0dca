-- The last wake episode of a seat is looked for at every delivery: not through all that were.

CREATE INDEX episodes_seat ON episodes (seat, seq);
