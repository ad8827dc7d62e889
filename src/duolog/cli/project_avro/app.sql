-- Number of orders and revenue per city: orders joined with customers.
-- The columns of both values are those of the schemas in the registry.
SET 'auto.offset.reset' = 'earliest';

CREATE STREAM orders (id STRING KEY)
  WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'AVRO');

CREATE TABLE customers (name STRING PRIMARY KEY)
  WITH (KAFKA_TOPIC = 'customers', VALUE_FORMAT = 'AVRO');

CREATE TABLE revenue_by_city
  WITH (KAFKA_TOPIC = 'revenue-by-city', VALUE_FORMAT = 'AVRO') AS
  SELECT city, COUNT(*) AS orders, SUM(amount) AS revenue
  FROM orders JOIN customers ON orders.customer = customers.name
  GROUP BY city
  EMIT CHANGES;
