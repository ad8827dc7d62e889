-- A chess game: moves are a stream, the board is a table.
--
-- A move is a permanent event. It changes up to three rows of the board:
--
--   move     Qh5xf7         one record in the stream
--   board    h5: deleted    the queen leaves its square
--            f7: deleted    the captured piece is removed
--            f7: Q          the queen arrives
--
--   duolog sql test examples/03_chess.sql

--@test: a capture deletes a piece and sets another one
CREATE STREAM moves (
  game STRING KEY,
  piece STRING,
  start STRING,
  goal STRING
) WITH (KAFKA_TOPIC = 'moves', VALUE_FORMAT = 'JSON');

-- A dot is an empty square: a captured piece is removed before the other one arrives.
CREATE STREAM effects AS
SELECT
  game,
  EXPLODE(ARRAY[CONCAT(start, '.'), CONCAT(goal, '.'), CONCAT(goal, piece)]) AS effect
FROM moves
EMIT CHANGES;

CREATE TABLE squares AS
SELECT
  SUBSTRING(effect, 1, 2) AS square,
  LATEST_BY_OFFSET(SUBSTRING(effect, 3)) AS piece
FROM effects
GROUP BY SUBSTRING(effect, 1, 2)
EMIT CHANGES;

-- A row that no longer passes is deleted; for one that never passed, nothing is emitted.
CREATE TABLE board WITH (KAFKA_TOPIC = 'board') AS
SELECT square, piece
FROM squares
WHERE piece <> '.'
EMIT CHANGES;

-- The pieces that take part are set up; white is in capitals.
INSERT INTO moves VALUES ('mate', 'P', '--', 'e2');
INSERT INTO moves VALUES ('mate', 'Q', '--', 'd1');
INSERT INTO moves VALUES ('mate', 'p', '--', 'f7');
ASSERT VALUES board VALUES ('e2', 'P');
ASSERT VALUES board VALUES ('d1', 'Q');
ASSERT VALUES board VALUES ('f7', 'p');

INSERT INTO moves VALUES ('mate', 'P', 'e2', 'e4');
ASSERT NULL VALUES board (square) KEY ('e2');
ASSERT VALUES board VALUES ('e4', 'P');

INSERT INTO moves VALUES ('mate', 'Q', 'd1', 'h5');
ASSERT NULL VALUES board (square) KEY ('d1');
ASSERT VALUES board VALUES ('h5', 'Q');

INSERT INTO moves VALUES ('mate', 'Q', 'h5', 'f7');
ASSERT NULL VALUES board (square) KEY ('h5');
ASSERT NULL VALUES board (square) KEY ('f7');
ASSERT VALUES board VALUES ('f7', 'Q');
