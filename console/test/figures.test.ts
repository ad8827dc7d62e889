import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresOf, isNew, type Query } from "../src/screens/start/figures";

const LOG = { name: "KSQL_PROCESSING_LOG", type: "STREAM" as const };
const query = (change: Partial<Query>): Query => ({
  id: "Q", state: "RUNNING", error: null, statement: "", sink: null, ...change,
});

test("a server with its own stream only is new", () => {
  assert.equal(isNew({ sources: [LOG] }, 0), true);
  assert.equal(isNew({ sources: [LOG] }, 1), false);
  assert.equal(isNew({ sources: [LOG, { name: "A", type: "TABLE" }] }, 0), false);
});

test("sums are those of the queries that know them, and the highest lag counts", () => {
  const figures = figuresOf(
    { sources: [LOG, { name: "A", type: "TABLE" }, { name: "B", type: "STREAM" }] },
    [
      query({ in: { records: 9, recordsPerSecond: 1.5 }, lag: { records: 7, ms: 20 }, errors: { a: 1, b: 2 } }),
      query({ in: { records: 9, recordsPerSecond: 2 }, lag: { records: 3, ms: 900 } }),
      query({ state: "ERROR", in: { records: 0, recordsPerSecond: null }, lag: { records: null, ms: null } }),
    ],
    4,
  );

  assert.deepEqual(figures, {
    topics: 4, streams: 1, tables: 1, states: [["RUNNING", 2], ["ERROR", 1]],
    lagRecords: 10, lagMs: 900, errors: 3, rate: 3.5,
  });
});

test("without queries that know, there is no number", () => {
  const { lagRecords, lagMs, rate, errors } = figuresOf({ sources: [] }, [query({})], 0);

  assert.deepEqual([lagRecords, lagMs, rate, errors], [null, null, null, 0]);
});
