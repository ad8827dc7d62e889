--@test: readings of sensors, through functions in Python
CREATE FUNCTION celsius FROM 'readings:celsius';
CREATE FUNCTION place FROM 'readings:place';
CREATE FUNCTION samples FROM 'readings:samples';
CREATE FUNCTION spread FROM 'readings:Spread';

CREATE STREAM readings (
  sensor STRING KEY,
  room STRING,
  floor INT,
  values_f STRING
) WITH (KAFKA_TOPIC = 'readings', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- A table function makes a row of each number.
CREATE STREAM single AS
SELECT sensor, PLACE(room, floor) AS at, SAMPLES(values_f) AS f
FROM readings
EMIT CHANGES;

-- A scalar one stands where any function does.
CREATE STREAM warm AS
SELECT sensor, at, CELSIUS(f) AS c
FROM single
WHERE CELSIUS(f) > 20
EMIT CHANGES;

-- An aggregate keeps a dataclass for each group.
CREATE TABLE spreads AS
SELECT at, SPREAD(CELSIUS(f)) AS degrees, COUNT(*) AS n
FROM single
GROUP BY at
EMIT CHANGES;

INSERT INTO readings VALUES ('a', 'lab', 2, '68 70 broken 86');
INSERT INTO readings VALUES ('b', NULL, 0, '50');
ASSERT VALUES single (sensor, at, f) VALUES ('a', 'lab/2', 68.0);
ASSERT VALUES single (sensor, at, f) VALUES ('a', 'lab/2', 70.0);
ASSERT VALUES single (sensor, at, f) VALUES ('a', 'lab/2', 86.0);
ASSERT VALUES single (sensor, at, f) VALUES ('b', 'hall/0', 50.0);
ASSERT VALUES warm (sensor, at, c) VALUES ('a', 'lab/2', 21.1);
ASSERT VALUES warm (sensor, at, c) VALUES ('a', 'lab/2', 30.0);
ASSERT VALUES spreads (at, degrees, n) VALUES ('lab/2', 0.0, 1);
ASSERT VALUES spreads (at, degrees, n) VALUES ('lab/2', 1.1, 2);
ASSERT VALUES spreads (at, degrees, n) VALUES ('lab/2', 10.0, 3);
ASSERT VALUES spreads (at, degrees, n) VALUES ('hall/0', 0.0, 1);
