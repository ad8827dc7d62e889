import assert from "node:assert/strict";
import { test } from "node:test";
import { getFigures, problemOf, sqlName } from "../src/lib/statements";
import { drawn } from "../src/screens/lineage/application";
import { agoText, chosen, lagText, linesOf, withTrend, type Query } from "../src/screens/queries/figures";
import { chosenSources, keyText, type Source } from "../src/screens/streams/sources";

test("an error of a query has a message, a detail and a hint", () => {
  assert.deepEqual(problemOf("it broke\ndetail: one\ntwo\nhint: mend it"), {
    message: "it broke",
    detail: "one\ntwo",
    hint: "mend it",
  });
  assert.deepEqual(problemOf("it broke"), { message: "it broke", detail: "", hint: "" });
});

test("figures are numbers, also those that JSON writes with a zero at the end", async () => {
  const before = globalThis.fetch;
  globalThis.fetch = () => Promise.resolve(new Response('{"rate": 0.0, "lag": [1.50, null]}'));
  try {
    assert.deepEqual(await getFigures("/v1/queries"), { rate: 0, lag: [1.5, null] });
  } finally {
    globalThis.fetch = before;
  }
});

test("names are written in backquotes unless they are plain", () => {
  assert.equal(sqlName("CSAS_LARGE_0"), "CSAS_LARGE_0");
  assert.equal(sqlName("csas"), "`csas`");
  assert.equal(sqlName("A`B; DROP"), "`A``B; DROP`");
});

test("a small line goes from the left to the right, with its gaps", () => {
  assert.deepEqual(linesOf([0, 10, null, 5], 90, 20), [
    [
      { x: 0, y: 20 },
      { x: 30, y: 0 },
    ],
    [{ x: 90, y: 10 }],
  ]);
  assert.deepEqual(linesOf([], 90, 20), []);
  assert.deepEqual(linesOf([null, null], 90, 20), []);
  assert.deepEqual(linesOf([0, 0], 90, 20), [
    [
      { x: 0, y: 20 },
      { x: 90, y: 20 },
    ],
  ]);
});

test("a lag has its trend as a sign for the eye and as a word for the ear", () => {
  assert.equal(withTrend("1,200", "rising"), "1,200 ↑");
  assert.equal(withTrend("7", null), "7");
  assert.equal(withTrend("", "falling"), "");
  const lag = { records: 1, recordsTrend: null, ms: 2000, msTrend: "falling", partitions: [] } as const;
  assert.equal(lagText({ ...lag, partitions: [] }), "1 record, 2 s, falling");
  assert.equal(lagText({ records: null, recordsTrend: null, ms: null, msTrend: null, partitions: [] }), "unknown");
});

test("the age of a result is in words", () => {
  assert.deepEqual([null, 999, 12_400].map(agoText), ["", "just now", "12 s ago"]);
});

const query = (id: string, state: string, statement = "", server = "") =>
  ({ id, state, statement, server, sink: "", sources: ["ORDERS"] }) as unknown as Query;

test("queries are chosen by a text and a state", () => {
  const all = [query("CSAS_A_0", "RUNNING", "select x"), query("CTAS_B_1", "ERROR", "select Y", "db:8088")];
  const ids = (text: string, state: string) => chosen(all, text, state).map((one) => one.id);
  assert.deepEqual(ids("", ""), ["CSAS_A_0", "CTAS_B_1"]);
  assert.deepEqual(ids(" y ", ""), ["CTAS_B_1"]);
  assert.deepEqual(ids("DB:", ""), ["CTAS_B_1"]);
  assert.deepEqual(ids("orders", "RUNNING"), ["CSAS_A_0"]);
  assert.deepEqual(ids("y", "RUNNING"), []);
});

test("streams and tables are chosen by name, topic, column and type", () => {
  const source = (name: string, type: string, column: string) =>
    ({ name, type, topics: [`${name}-topic`], columns: [{ name: column, type: "INTEGER", role: "KEY" }] }) as unknown as Source;
  const all = [source("A", "STREAM", "PRICE"), source("B", "TABLE", "PLACE")];
  const names = (text: string, type: string) => chosenSources(all, text, type).map((one) => one.name);
  assert.deepEqual(names("", ""), ["A", "B"]);
  assert.deepEqual(names("b-top", ""), ["B"]);
  assert.deepEqual(names("price", ""), ["A"]);
  assert.deepEqual(names("p", "TABLE"), ["B"]);
  assert.equal(keyText(all[0]!), "PRICE INTEGER");
});

test("the graph shows states, lags and rates", () => {
  const { nodes, edges } = drawn({
    leftOut: 0,
    nodes: [
      { id: "query:A", kind: "query", name: "A", state: "RUNNING", lagMs: 2000, lagMsTrend: "rising" },
      { id: "query:B", kind: "query", name: "B", state: "ERROR", lagMs: 2000 },
      { id: "query:C", kind: "query", name: "C", state: "RUNNING", lagMs: null },
      { id: "topic:t", kind: "topic", name: "t", records: 1200 },
      { id: "source:S", kind: "stream", name: "S" },
    ],
    edges: [
      { from: "topic:t", to: "source:S", recordsPerSecond: 2.5 },
      { from: "source:S", to: "query:A", recordsPerSecond: 0 },
      { from: "source:S", to: "query:B", recordsPerSecond: null },
    ],
  });
  assert.deepEqual(
    nodes.map((one) => [one.note, one.tone]),
    [
      ["lag 2 s ↑", "good"],
      ["error", "bad"],
      ["running", "good"],
      ["1,200 records", undefined],
      [undefined, undefined],
    ],
  );
  assert.deepEqual(
    edges.map((one) => [one.label, one.live]),
    [
      ["2.5/s", true],
      ["0/s", false],
      ["", false],
    ],
  );
});
