-- Enrichment: join each payment with the customer and the currency as of its arrival.
--
-- customers is joined by the payment's key, currencies by an expression.
--
--   duolog sql test examples/07_enrichment.sql

--@test: a payment sees the rows that are there when it comes
CREATE STREAM payments (
  customer STRING KEY,
  amount DOUBLE,
  currency STRING
) WITH (KAFKA_TOPIC = 'payments', VALUE_FORMAT = 'JSON');

CREATE TABLE customers (
  customer STRING PRIMARY KEY,
  city STRING
) WITH (KAFKA_TOPIC = 'customers', VALUE_FORMAT = 'JSON');

CREATE TABLE currencies (
  code STRING PRIMARY KEY,
  euro DOUBLE
) WITH (KAFKA_TOPIC = 'currencies', VALUE_FORMAT = 'JSON');

CREATE STREAM payments_of_customers AS
SELECT
  p.customer AS customer,
  p.amount AS amount,
  p.currency AS currency,
  c.city AS city
FROM payments p
LEFT JOIN customers c ON p.customer = c.customer
EMIT CHANGES;

CREATE STREAM enriched WITH (KAFKA_TOPIC = 'enriched') AS
SELECT p.customer AS customer, p.city AS city, ROUND(p.amount * c.euro, 2) AS in_euro
FROM payments_of_customers p
JOIN currencies c ON UCASE(p.currency) = c.code
PARTITION BY p.customer
EMIT CHANGES;

-- Customers and rates exist, and two payments arrive; bob is not a customer yet.
INSERT INTO customers VALUES ('ann', 'Berlin');
INSERT INTO currencies VALUES ('EUR', 1.0);
INSERT INTO currencies VALUES ('USD', 0.9);
INSERT INTO payments VALUES ('ann', 100.0, 'USD');
INSERT INTO payments VALUES ('bob', 20.0, 'EUR');
ASSERT VALUES enriched VALUES ('ann', 'Berlin', 90.0);
ASSERT VALUES enriched VALUES ('bob', NULL, 20.0);

-- ann moves, bob becomes a customer, the dollar falls. This alone writes nothing.
INSERT INTO customers VALUES ('ann', 'Rome');
INSERT INTO customers VALUES ('bob', 'Oslo');
INSERT INTO currencies VALUES ('USD', 0.8);

-- The same payments again, and one in a currency without a rate.
INSERT INTO payments VALUES ('ann', 100.0, 'usd');
INSERT INTO payments VALUES ('bob', 20.0, 'EUR');
INSERT INTO payments VALUES ('bob', 5.0, 'XYZ');
ASSERT VALUES enriched VALUES ('ann', 'Rome', 80.0);
ASSERT VALUES enriched VALUES ('bob', 'Oslo', 20.0);
