-- An alert: react to changes of a state, not to each event.
--
-- A truck's temperature is a table. An event above the limit is not interesting by itself; the change to too warm is. A row stores the
-- last two states: an alert is a change of the table in which they differ. Between the limits a truck keeps its state, so that one
-- that fluctuates around one limit is one alert.
--
--   duolog sql test examples/08_alert.sql

--@test: a truck that becomes too warm is one alert
CREATE STREAM readings (
  truck STRING KEY,
  celsius BIGINT
) WITH (KAFKA_TOPIC = 'readings', VALUE_FORMAT = 'JSON');

CREATE TABLE trucks AS
SELECT
  truck,
  LATEST_BY_OFFSET(celsius) AS celsius,
  LATEST_BY_OFFSET(CASE
    WHEN celsius > 8 THEN 'warm'
    WHEN celsius < 6 THEN 'cool'
  END, 2) AS states
FROM readings
GROUP BY truck
EMIT CHANGES;

CREATE STREAM changes AS CHANGES OF trucks;

CREATE STREAM alerts WITH (KAFKA_TOPIC = 'alerts') AS
SELECT truck, celsius
FROM changes
WHERE celsius > 8 AND (ARRAY_LENGTH(states) = 1 OR states[1] = 'cool')
EMIT CHANGES;

CREATE STREAM every_event WITH (KAFKA_TOPIC = 'every-event') AS
SELECT truck, celsius
FROM readings
WHERE celsius > 8
EMIT CHANGES;

INSERT INTO readings VALUES ('HH-1', 5);
INSERT INTO readings VALUES ('HH-1', 9);
INSERT INTO readings VALUES ('B-7', 4);
INSERT INTO readings VALUES ('HH-1', 10);
INSERT INTO readings VALUES ('HH-1', 7); -- below the limit, but not cool yet
INSERT INTO readings VALUES ('HH-1', 9);
INSERT INTO readings VALUES ('B-7', 12);
INSERT INTO readings VALUES ('HH-1', 5); -- cool
INSERT INTO readings VALUES ('HH-1', 8);
INSERT INTO readings VALUES ('HH-1', 11); -- warm again
INSERT INTO readings VALUES ('C-3', 20); -- warm from its first reading

ASSERT VALUES alerts VALUES ('HH-1', 9);
ASSERT VALUES alerts VALUES ('B-7', 12);
ASSERT VALUES alerts VALUES ('HH-1', 11);
ASSERT VALUES alerts VALUES ('C-3', 20);
