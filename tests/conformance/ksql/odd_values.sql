--@test: two calls that share a failing inner call are null each, and the record is kept
CREATE STREAM s (id INT, t STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT id, PARSE_TIMESTAMP(t, 'yyyy-MM-dd') AS ts, STRINGTOTIMESTAMP(t, 'yyyy-MM-dd') AS ms FROM s;
INSERT INTO s VALUES (1, 'no date');
INSERT INTO s VALUES (2, '1970-01-02');
ASSERT VALUES o (id, ts, ms) VALUES (1, NULL, NULL);
ASSERT VALUES o (id, ts, ms) VALUES (2, '1970-01-02T00:00:00.000', 86400000);

--@test: the same in the arms of a CASE and below other calls
CREATE STREAM s (id INT, t STRING, z STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT id, CASE WHEN STRINGTOTIMESTAMP(t, 'yyyy-MM-dd', z) > 0 THEN STRINGTOTIMESTAMP(t, 'yyyy-MM-dd', z) + 1 ELSE CAST(-1 AS BIGINT) END AS a, UNIX_TIMESTAMP(PARSE_TIMESTAMP(t, 'yyyy-MM-dd', z)) AS b FROM s;
INSERT INTO s VALUES (1, '2026-01-02', 'PDT');
INSERT INTO s VALUES (2, '1970-01-02', 'UTC');
ASSERT VALUES o (id, a, b) VALUES (1, -1, NULL);
ASSERT VALUES o (id, a, b) VALUES (2, 86400001, 86400000);

--@test: the same in a WHERE
CREATE STREAM s (id INT, t STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT id, STRINGTOTIMESTAMP(t, 'yyyy') AS y FROM s WHERE STRINGTOTIMESTAMP(t, 'yyyy') IS NULL OR PARSE_TIMESTAMP(t, 'yyyy') < '2026';
INSERT INTO s VALUES (1, 'no date');
INSERT INTO s VALUES (2, '1970');
INSERT INTO s VALUES (3, '2030');
INSERT INTO s VALUES (4, 'none');
ASSERT VALUES o (id, y) VALUES (1, NULL);
ASSERT VALUES o (id, y) VALUES (2, 0);
ASSERT VALUES o (id, y) VALUES (4, NULL);

--@test: the same in an aggregate and its HAVING
CREATE STREAM s (id INT, t STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT id, COUNT(STRINGTOTIMESTAMP(t, 'yyyy')) AS n, MAX(STRINGTOTIMESTAMP(t, 'yyyy')) AS m FROM s GROUP BY id HAVING COUNT(STRINGTOTIMESTAMP(t, 'yyyy')) < 2;
INSERT INTO s VALUES (1, 'no date');
INSERT INTO s VALUES (1, '1970');
ASSERT VALUES o (id, n, m) VALUES (1, 0, NULL);
ASSERT VALUES o (id, n, m) VALUES (1, 1, 0);

--@test: a broken sensor passes no comparison
CREATE STREAM s (k STRING KEY, t DOUBLE) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM hot AS SELECT k, t FROM s WHERE t > 30 OR t >= 30 OR t BETWEEN 0 AND CAST('NaN' AS DOUBLE) OR t IN (t, 1.5);
INSERT INTO s VALUES ('broken', CAST('NaN' AS DOUBLE));
INSERT INTO s VALUES ('oven', 99.5);
ASSERT VALUES hot (k, t) VALUES ('oven', 99.5);

--@test: NaN is not equal to itself, nor apart from a number
CREATE STREAM s (k STRING KEY, t DOUBLE) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT k, t = t AS eq, t <> 1 AS ne, t < 1 AS lt, NOT (t > 30) AS cool, CASE WHEN t > 30 THEN 'hot' WHEN t <= 30 THEN 'cool' ELSE 'broken' END AS w FROM s;
INSERT INTO s VALUES ('broken', CAST('NaN' AS DOUBLE));
INSERT INTO s VALUES ('none', NULL);
ASSERT VALUES o (k, eq, ne, lt, cool, w) VALUES ('broken', false, false, false, true, 'broken');
ASSERT VALUES o (k, eq, ne, lt, cool, w) VALUES ('none', false, false, false, true, 'broken');

--@test: aggregates order NaN as Java's Double.compareTo does, above all numbers
CREATE STREAM s (k STRING KEY, t DOUBLE) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE o AS SELECT k, MIN(t) AS lo, MAX(t) AS hi, TOPK(t, 2) AS tops FROM s GROUP BY k HAVING MIN(t) < 50;
INSERT INTO s VALUES ('a', CAST('NaN' AS DOUBLE));
INSERT INTO s VALUES ('a', 1.5);
ASSERT VALUES o (k, lo, hi, tops) VALUES ('a', 1.5, CAST('NaN' AS DOUBLE), ARRAY[CAST('NaN' AS DOUBLE), 1.5]);

--@test: blanks around a DOUBLE do not count, in DELIMITED and in JSON
CREATE STREAM lines (line STRING) WITH (KAFKA_TOPIC='c', VALUE_FORMAT='KAFKA');
CREATE STREAM c (id INT, d DOUBLE, t STRING) WITH (KAFKA_TOPIC='c', VALUE_FORMAT='DELIMITED');
CREATE STREAM o AS SELECT id, d FROM c;
CREATE STREAM objects (line STRING) WITH (KAFKA_TOPIC='j', VALUE_FORMAT='KAFKA');
CREATE STREAM j (id INT, d DOUBLE) WITH (KAFKA_TOPIC='j', VALUE_FORMAT='JSON');
CREATE STREAM p AS SELECT id, d FROM j;
INSERT INTO lines VALUES ('1, 23.5,a');
INSERT INTO objects VALUES ('{"id":1,"d":" 23.5"}');
ASSERT VALUES o (id, d) VALUES (1, 23.5);
ASSERT VALUES p (id, d) VALUES (1, 23.5);

--@test: a row whose TIMESTAMP column says no time is not written, and a deletion keeps its time
CREATE STREAM s (id INT, t BIGINT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM o WITH (TIMESTAMP='T') AS SELECT id, t FROM s;
CREATE STREAM u (id INT, t STRING) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');
CREATE STREAM p WITH (TIMESTAMP='T', TIMESTAMP_FORMAT='yyyy-MM-dd') AS SELECT id, t FROM u;
CREATE TABLE v (id INT PRIMARY KEY, t BIGINT) WITH (KAFKA_TOPIC='v', VALUE_FORMAT='JSON');
CREATE TABLE q WITH (TIMESTAMP='T') AS SELECT id, t FROM v WHERE t > 5;
INSERT INTO s (ROWTIME, id, t) VALUES (10, 1, NULL);
INSERT INTO s (ROWTIME, id, t) VALUES (20, 2, -5);
INSERT INTO s (ROWTIME, id, t) VALUES (30, 3, 500);
INSERT INTO u (ROWTIME, id, t) VALUES (10, 1, 'no date');
INSERT INTO u (ROWTIME, id, t) VALUES (20, 2, '1970-01-02');
INSERT INTO v (ROWTIME, id, t) VALUES (10, 1, 500);
INSERT INTO v (ROWTIME, id, t) VALUES (20, 1, 2);
ASSERT VALUES o (ROWTIME, id, t) VALUES (500, 3, 500);
ASSERT VALUES p (ROWTIME, id, t) VALUES (86400000, 2, '1970-01-02');
ASSERT VALUES q (ROWTIME, id, t) VALUES (500, 1, 500);
ASSERT NULL VALUES q (ROWTIME, id) KEY (20, 1);
