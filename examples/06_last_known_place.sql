-- Last known place: one stream, two tables.
--
-- The tables contain each user's last reported place, and the places per hour. Records arrive late, as from phones without a network:
-- a window accepts them during its grace period, and then it is closed. (SQL has no aggregate for the last place by record time;
-- the Python program has a third table for it.)
--
--   duolog sql test examples/06_last_known_place.sql

--@test: a late record is in its hour, and one that is too late in none
CREATE STREAM visits (
  user STRING KEY,
  place STRING
) WITH (KAFKA_TOPIC = 'visits', VALUE_FORMAT = 'JSON');

CREATE TABLE last_seen WITH (KAFKA_TOPIC = 'last-seen') AS
SELECT user, LATEST_BY_OFFSET(place) AS place
FROM visits
GROUP BY user
EMIT CHANGES;

CREATE TABLE places_by_hour WITH (KAFKA_TOPIC = 'places-by-hour') AS
SELECT user, COUNT(*) AS visits, COLLECT_LIST(place) AS places
FROM visits
WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 30 MINUTES)
GROUP BY user
EMIT CHANGES;

INSERT INTO visits (ROWTIME, user, place) VALUES (1700039100000, 'ann', 'station'); -- 09:05
INSERT INTO visits (ROWTIME, user, place) VALUES (1700039400000, 'bob', 'park'); -- 09:10
INSERT INTO visits (ROWTIME, user, place) VALUES (1700041200000, 'ann', 'cafe'); -- 09:40
INSERT INTO visits (ROWTIME, user, place) VALUES (1700042700000, 'ann', 'office'); -- 10:05
INSERT INTO visits (ROWTIME, user, place) VALUES (1700042100000, 'ann', 'bakery'); -- 09:55, late
INSERT INTO visits (ROWTIME, user, place) VALUES (1700043600000, 'bob', 'museum'); -- 10:20
INSERT INTO visits (ROWTIME, user, place) VALUES (1700048700000, 'bob', 'home'); -- 11:45
INSERT INTO visits (ROWTIME, user, place) VALUES (1700045700000, 'bob', 'bridge'); -- 10:55, too late

ASSERT VALUES places_by_hour (user, visits, places, WINDOWSTART)
VALUES ('ann', 1, ARRAY['station'], 1700038800000);

ASSERT VALUES places_by_hour (user, visits, places) VALUES ('bob', 1, ARRAY['park']);

ASSERT VALUES places_by_hour (user, visits, places)
VALUES ('ann', 2, ARRAY['station', 'cafe']);

ASSERT VALUES places_by_hour (user, visits, places) VALUES ('ann', 1, ARRAY['office']);

ASSERT VALUES places_by_hour (user, visits, places, WINDOWSTART)
VALUES ('ann', 3, ARRAY['station', 'cafe', 'bakery'], 1700038800000);

ASSERT VALUES places_by_hour (user, visits, places) VALUES ('bob', 1, ARRAY['museum']);
ASSERT VALUES places_by_hour (user, visits, places) VALUES ('bob', 1, ARRAY['home']);

-- The last reported place depends on the order in which records arrive.
ASSERT VALUES last_seen VALUES ('ann', 'station');
ASSERT VALUES last_seen VALUES ('bob', 'park');
ASSERT VALUES last_seen VALUES ('ann', 'cafe');
ASSERT VALUES last_seen VALUES ('ann', 'office');
ASSERT VALUES last_seen VALUES ('ann', 'bakery');
ASSERT VALUES last_seen VALUES ('bob', 'museum');
ASSERT VALUES last_seen VALUES ('bob', 'home');
ASSERT VALUES last_seen VALUES ('bob', 'bridge');
