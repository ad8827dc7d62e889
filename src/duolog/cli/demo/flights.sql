-- The README's demo in SQL: a year of flights out of New York, joined and counted in two live tables.
--
--   flights ─▶ left join airlines ─┬─▶ by carrier ──────────────────────────▶ flights-by-airline
--   (key carrier)                  └─▶ left join airports on dest ─▶ by dest ─▶ flights-by-destination
--
-- The joins are left joins, because four destinations are not among the airports, and no flight may be lost. A cancelled
-- flight has no delay; every aggregate except COUNT(*) ignores null. Without any delay, sum and mean are 0 in
-- SQL, but null in the demo.
--
--   duolog sql -f examples/flights.sql
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM flights (
  carrier STRING KEY,
  flight BIGINT,
  tailnum STRING,
  origin STRING,
  dest STRING,
  dep_delay BIGINT,
  arr_delay BIGINT,
  distance BIGINT,
  produced_at BIGINT
) WITH (KAFKA_TOPIC = 'flights', VALUE_FORMAT = 'JSON', PARTITIONS = 2);

CREATE TABLE airlines (
  carrier STRING PRIMARY KEY,
  name STRING
) WITH (KAFKA_TOPIC = 'airlines', VALUE_FORMAT = 'JSON', PARTITIONS = 2);

CREATE TABLE airports (
  faa STRING PRIMARY KEY,
  name STRING
) WITH (KAFKA_TOPIC = 'airports', VALUE_FORMAT = 'JSON', PARTITIONS = 2);

CREATE STREAM flights_with_airline WITH (KAFKA_TOPIC = 'flights-with-airline') AS
SELECT
  f.carrier AS carrier,
  a.name AS airline_name,
  f.dest AS dest,
  f.dep_delay AS dep_delay
FROM flights f
LEFT JOIN airlines a ON f.carrier = a.carrier
EMIT CHANGES;

CREATE TABLE by_airline WITH (KAFKA_TOPIC = 'flights-by-airline') AS
SELECT
  carrier,
  MAX(airline_name) AS name,
  COUNT(*) AS flights,
  COUNT(dep_delay) AS delay_count,
  CASE WHEN COUNT(dep_delay) > 0 THEN SUM(dep_delay) END AS delay_sum,
  CASE WHEN COUNT(dep_delay) > 0 THEN AVG(dep_delay) END AS delay_mean,
  MAX(dep_delay) AS delay_max
FROM flights_with_airline
GROUP BY carrier
EMIT CHANGES;

CREATE STREAM flights_with_airport WITH (KAFKA_TOPIC = 'flights-with-airport') AS
SELECT f.dest AS dest, p.name AS airport_name, f.dep_delay AS dep_delay
FROM flights_with_airline f
LEFT JOIN airports p ON f.dest = p.faa
EMIT CHANGES;

CREATE TABLE by_destination WITH (KAFKA_TOPIC = 'flights-by-destination') AS
SELECT
  dest,
  MAX(airport_name) AS name,
  COUNT(*) AS flights,
  COUNT(dep_delay) AS delay_count,
  CASE WHEN COUNT(dep_delay) > 0 THEN SUM(dep_delay) END AS delay_sum,
  CASE WHEN COUNT(dep_delay) > 0 THEN AVG(dep_delay) END AS delay_mean,
  MAX(dep_delay) AS delay_max
FROM flights_with_airport
GROUP BY dest
EMIT CHANGES;
