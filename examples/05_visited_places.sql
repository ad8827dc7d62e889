-- Visited places: an aggregate is a table, and its changes are a stream.
--
-- Visits are a stream of (user, place). The number of visits per user is a table, computed by counting. Each visit changes
-- one row, and the stream of these changes can be read like any other.
--
--   duolog sql test examples/05_visited_places.sql

--@test: one event changes one row, and the changes are events again
CREATE STREAM visits (
  user STRING KEY,
  place STRING
) WITH (KAFKA_TOPIC = 'visits', VALUE_FORMAT = 'JSON');

CREATE TABLE visits_by_user WITH (KAFKA_TOPIC = 'visits-by-user') AS
SELECT user, COUNT(*) AS visits
FROM visits
GROUP BY user
EMIT CHANGES;

CREATE STREAM changes AS CHANGES OF visits_by_user;

CREATE STREAM travellers AS
SELECT user, visits
FROM changes
WHERE visits = 3
EMIT CHANGES;

INSERT INTO visits VALUES ('alice', 'Paris');
INSERT INTO visits VALUES ('bob', 'Sydney');
INSERT INTO visits VALUES ('alice', 'Rome');
INSERT INTO visits VALUES ('bob', 'Lima');
INSERT INTO visits VALUES ('alice', 'Berlin');
INSERT INTO visits VALUES ('carol', 'Oslo');

-- The latest change of each user is the table.
ASSERT VALUES visits_by_user VALUES ('alice', 1);
ASSERT VALUES visits_by_user VALUES ('bob', 1);
ASSERT VALUES visits_by_user VALUES ('alice', 2);
ASSERT VALUES visits_by_user VALUES ('bob', 2);
ASSERT VALUES visits_by_user VALUES ('alice', 3);
ASSERT VALUES visits_by_user VALUES ('carol', 1);
ASSERT VALUES travellers VALUES ('alice', 3);
