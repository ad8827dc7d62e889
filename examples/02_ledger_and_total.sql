-- A ledger and a total: a stream is history, a table is the present.
--
-- Each sale is a permanent event. The total per product is a row that changes. Every event updates both.
--
--   duolog sql test examples/02_ledger_and_total.sql

--@test: each sale stays in the ledger, and changes the row of its product
CREATE STREAM sales (
  product STRING KEY,
  amount BIGINT
) WITH (KAFKA_TOPIC = 'sales', VALUE_FORMAT = 'JSON');

CREATE TABLE totals WITH (KAFKA_TOPIC = 'totals') AS
SELECT product, COUNT(*) AS sales, SUM(amount) AS total
FROM sales
GROUP BY product
EMIT CHANGES;

INSERT INTO sales VALUES ('tea', 3);
INSERT INTO sales VALUES ('coffee', 5);
INSERT INTO sales VALUES ('tea', 4);
INSERT INTO sales VALUES ('cake', 6);
INSERT INTO sales VALUES ('coffee', 5);
INSERT INTO sales VALUES ('tea', 3);

-- The totals do not show how they were computed.
ASSERT VALUES totals (product, sales, total) VALUES ('tea', 1, 3);
ASSERT VALUES totals (product, sales, total) VALUES ('coffee', 1, 5);
ASSERT VALUES totals (product, sales, total) VALUES ('tea', 2, 7);
ASSERT VALUES totals (product, sales, total) VALUES ('cake', 1, 6);
ASSERT VALUES totals (product, sales, total) VALUES ('coffee', 2, 10);
ASSERT VALUES totals (product, sales, total) VALUES ('tea', 3, 10);

-- The ledger contains all sales: it determines the totals, but the totals do not determine it.
ASSERT VALUES sales (product, amount) VALUES ('tea', 3);
ASSERT VALUES sales (product, amount) VALUES ('coffee', 5);
ASSERT VALUES sales (product, amount) VALUES ('tea', 4);
