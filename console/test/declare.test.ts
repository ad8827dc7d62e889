// The statement that the screen of a topic writes for the SQL screen.
import assert from "node:assert/strict";
import { test } from "node:test";
import { draftOf } from "../src/screens/topic/declare";
import type { BrowsedRecord } from "../src/screens/topic/model";
import type { Part } from "../src/parts/values";

function part(text: string, format: string): Part {
  return { text, format, kind: format === "JSON" ? "json" : "text", bytes: text.length, truncated: false };
}

function record(key: Part | null, value: Part | null): BrowsedRecord {
  return { partition: 0, offset: "0", timestamp: "0", timestampType: "create", size: 0, key, value, headers: [], headersLeftOut: 0 };
}

const json = (key: string, value: string) => record(part(key, "STRING"), part(value, "JSON"));

test("columns have the types of the fields of all records, and the key the name of its field", () => {
  const draft = draftOf("my-orders", [
    json("alice", '{"customer": "alice", "n": 9007199254740993, "price": 25.0, "paid": true, "tags": ["a"], "to": {"zip": 1, "x y": null}}'),
    json("bob", '{"customer": "bob", "n": 1, "price": 3, "paid": null, "More": "b", "to": {"zip": 2}}'),
  ], null);

  assert.equal(
    draft,
    [
      "CREATE STREAM my_orders (",
      "  customer STRING KEY,",
      "  n BIGINT,",
      "  price DOUBLE,",
      "  paid BOOLEAN,",
      "  tags ARRAY<STRING>,",
      "  to STRUCT<zip BIGINT, `x y` STRING>,",
      "  More STRING",
      ") WITH (KAFKA_TOPIC='my-orders', VALUE_FORMAT='JSON');",
      "",
      "SELECT * FROM my_orders EMIT CHANGES;",
    ].join("\n"),
  );
});

test("a key that is no field gets a name of its own, and reserved words are quoted", () => {
  const draft = draftOf("2nd", [json("k1", '{"id": 1, "from": "a", "ROWTIME": 5}')], null);

  assert.ok(draft.startsWith("CREATE STREAM _2nd (\n  record_key STRING KEY,\n  id BIGINT,\n  `from` STRING\n)"), draft);
});

test("texts and numbers are one column, in the format of Kafka's serializers", () => {
  const numbers = draftOf("n", [record(part("1", "INT"), part("2.5", "DOUBLE"))], null);
  const texts = draftOf("t", [record(null, part("hello", "STRING")), record(null, null)], null);

  assert.ok(numbers.includes("(\n  id INT KEY,\n  val DOUBLE\n) WITH (KAFKA_TOPIC='n', VALUE_FORMAT='KAFKA')"), numbers);
  assert.ok(texts.includes("(\n  id STRING KEY,\n  val STRING\n) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='KAFKA')"), texts);
});

test("a topic with a schema gets its columns from the schema", () => {
  const draft = draftOf("s", [record(null, part("{}", "AVRO"))], null);

  assert.ok(draft.startsWith("CREATE STREAM s WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO');"), draft);
});

test("a topic without records gets a column to begin with", () => {
  const draft = draftOf("empty", [], null);

  assert.ok(draft.includes("id STRING KEY"), draft);
});
