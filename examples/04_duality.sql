-- Duality, row by row: the records of one topic read as a stream and as a table.
--
--   bob: Rome      stream: one more record    table: insert
--   bob: Oslo      stream: one more record    table: update
--   bob: null      stream: one more record    table: delete
--   null: Paris    stream: one more record    table: ignored
--
-- In format KAFKA, a null column is written as a null value, which deletes the row.
--
--   duolog sql test examples/04_duality.sql

--@test: four records are four events, and in the table an insert, an update and a delete
CREATE STREAM events (
  name STRING KEY,
  city STRING
) WITH (KAFKA_TOPIC = 'moves', VALUE_FORMAT = 'KAFKA');

CREATE TABLE moves (
  name STRING PRIMARY KEY,
  city STRING
) WITH (KAFKA_TOPIC = 'moves', VALUE_FORMAT = 'KAFKA');

CREATE TABLE as_table WITH (KAFKA_TOPIC = 'as-table', VALUE_FORMAT = 'JSON') AS
SELECT name, city
FROM moves
EMIT CHANGES;

INSERT INTO events VALUES ('bob', 'Rome');
INSERT INTO events VALUES ('bob', 'Oslo');
INSERT INTO events VALUES ('bob', NULL);
INSERT INTO events VALUES (NULL, 'Paris');

ASSERT VALUES events VALUES ('bob', 'Rome');
ASSERT VALUES events VALUES ('bob', 'Oslo');
ASSERT VALUES events VALUES ('bob', NULL);
ASSERT VALUES events VALUES (NULL, 'Paris');

ASSERT VALUES as_table VALUES ('bob', 'Rome');
ASSERT VALUES as_table VALUES ('bob', 'Oslo');
ASSERT NULL VALUES as_table (name) KEY ('bob');
