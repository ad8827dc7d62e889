// The logic of the screens of topics and of the viewer of values.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, children, cut, hexRows, kindOf, parsed, preview, scalar, sizeOf, type Part } from "../src/parts/values";
import { settingsOf } from "../src/screens/topics/create";
import { problemOfName } from "../src/screens/topics/model";
import { changed, empty, jsonOf, type FieldType } from "../src/screens/topic/form";
import { ROWS_MAX, after } from "../src/screens/topic/live";
import { SEEK, filtersOf, fromOf, marked, offsetsOf, placeOf, progressOf, startOf, timeOf, told, type BrowsedRecord, type Page, type Topic } from "../src/screens/topic/model";
import { amountOf, hintOf, lowers } from "../src/screens/topic/amounts";
import { goesOn, joined } from "../src/screens/topic/pages";
import { usersOf } from "../src/screens/topic/used-by";
import { partOf, startOfPart } from "../src/screens/topic/part_input";

const text = (value: string, kind: Part["kind"] = "text"): Part => ({ text: value, format: "STRING", kind, bytes: value.length, truncated: false });

test("numbers in a tree keep all their digits and are not texts", () => {
  const value = parsed('{"id": 9007199254740993, "price": 1.10, "text": "9007199254740993", "n": 5}') as Record<string, unknown>;

  assert.deepEqual(
    ["id", "price", "text", "n"].map((name) => [kindOf(value[name]), scalar(value[name])]),
    [
      ["number", "9007199254740993"],
      ["number", "1.10"],
      ["string", '"9007199254740993"'],
      ["number", "5"],
    ],
  );
  assert.equal(parsed("{"), undefined);
  assert.equal(parsed(`"${"x".repeat(1_000_001)}"`), undefined);
});

test("fields and items are made from the first on, up to a number", () => {
  const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`c${at}`, at]));

  assert.equal(sizeOf(wide), 1000);
  assert.deepEqual(children(wide, 2), [["c0", 0], ["c1", 1]]);
  assert.deepEqual(children(["a", "b"], 1), [["0", "a"]]);
});

test("a cut does not split a character", () => {
  assert.deepEqual(cut("ab😀", 3), { text: "ab", more: 2 });
  assert.deepEqual(cut("abc", 3), { text: "abc", more: 0 });
});

test("bytes are shown as offset, digits and characters", () => {
  assert.deepEqual(hexRows(new Uint8Array([0, 65, 255]), 0), [`00000000  ${"00 41 ff".padEnd(47)}  .A.`]);
  assert.equal(hexRows(new Uint8Array(40), 0, 32).length, 2);
  assert.deepEqual([...bytesOf(text("ff0a", "hex"))], [255, 10]);
  assert.deepEqual([...bytesOf(text("é"))], [0xc3, 0xa9]);
});

test("a preview is one line with a bound", () => {
  assert.equal(preview(text("a\n  b\t" + "x".repeat(9999))).length, 300);
  assert.equal(preview(text("a\n  b")), "a b");
  assert.equal(preview(null), "null");
});

test("starts go to the address and come back", () => {
  for (const [kind, value, from] of [
    ["newest", "", ""],
    ["beginning", "", "beginning"],
    ["offset", "17", "17"],
    ["last", "5", "-5"],
    ["time", "1700000000000", "@1700000000000"],
  ] as const) {
    assert.equal(fromOf(kind, value), from);
    assert.deepEqual(startOf(from, ""), { kind, value });
  }
  assert.equal(fromOf("offset", "-1"), null);
  assert.equal(fromOf("last", "x"), null);
  assert.equal(fromOf("time", "soon"), null);
});

test("times are ages, milliseconds or dates", () => {
  assert.equal(timeOf("10m", 1_000_000), 400_000);
  assert.equal(timeOf("2026-11-28T06:30:00Z", 0), Date.UTC(2026, 10, 28, 6, 30));
  assert.equal(timeOf("2026-13-45", 0), null);
  assert.equal(timeOf("5", 0), null);
});

test("only what was chosen is asked for", () => {
  const seek = { ...SEEK, from: "-5", in: "key", where: "a = 1", limit: "100" };

  assert.deepEqual(filtersOf(seek), { where: "a = 1" });
  assert.deepEqual(placeOf({ ...seek, search: "x" }), { search: "x", in: "key", where: "a = 1", from: "-5", limit: "100" });
});

test("a wrong place is marked in its line", () => {
  assert.deepEqual(marked("a = 1\nAND amuont > 5", { line: 2, column: 5, length: 6 }), {
    line: "AND amuont > 5",
    carets: "    ^^^^^^",
  });
  assert.equal(marked("a", { line: 7, column: 9, length: 0 }).carets, "^");
});

test("a page says what was read and why it stopped", () => {
  const page = { records: [{}], read: 1234, stopped: "bytes", end: false } as unknown as Page;

  assert.match(told(page, true), /^1 record shown, 1,234 read\. The limit of bytes .* Continue/);
  assert.equal(told({ ...page, stopped: null, end: true }, false), "1 record shown. This is the end.");
  assert.equal(told({ ...page, stopped: "limit" }, false), "1 record shown.");
});

test("live rows have a bound, the newest first, and are counted while paused", () => {
  const event = (from: number, count: number) => ({
    records: Array.from({ length: count }, (_, at) => ({ offset: String(from + at) }) as BrowsedRecord),
    read: count + 5,
    matched: count + 2,
    leftOut: 2,
  });
  let state = after({ rows: [], read: 0, matched: 0, leftOut: 0 }, event(0, 600), false);
  state = after(state, event(600, 600), false);

  assert.equal(state.rows.length, ROWS_MAX);
  assert.equal(state.rows[0]?.offset, "1199");
  assert.deepEqual([state.read, state.matched, state.leftOut], [1210, 1204, 4]);
  const paused = after(state, event(1200, 10), true);
  assert.equal(paused.rows[0]?.offset, "1199");
  assert.equal(paused.leftOut, 4 + 2 + 10);
});

const ORDER: FieldType = {
  type: "struct",
  fields: [
    { name: "id", type: "bigint" },
    { name: "price", type: "decimal", precision: 10, scale: 2 },
    { name: "paid", type: "boolean" },
    { name: "who", type: "struct", fields: [{ name: "name", type: "string" }] },
    { name: "tags", type: "array", items: { type: "string" } },
  ],
};

test("a form writes JSON with the digits that were typed", () => {
  let typed = changed(empty(ORDER), ["id"], "9007199254740993");
  typed = changed(typed, ["price"], "1.10");
  typed = changed(typed, ["who", "name"], 'a "b"');
  typed = changed(typed, ["tags"], '["x"]');

  const { json, problems } = jsonOf(ORDER, typed);

  assert.deepEqual(problems, []);
  assert.equal(json, '{"id": 9007199254740993, "price": 1.10, "paid": false, "who": {"name": "a \\"b\\""}, "tags": ["x"]}');
  assert.equal(jsonOf(ORDER, changed(typed, ["who"], null)).json.includes('"who": null'), true);
});

test("a form names what is wrong", () => {
  let typed = changed(empty(ORDER), ["id"], "1.5");
  typed = changed(typed, ["price"], "01");
  typed = changed(typed, ["tags"], "[");

  assert.deepEqual(
    jsonOf(ORDER, typed).problems.map((one) => one.path),
    ["id", "price", "tags"],
  );
});

test("a part is written by its schema, as a text, or as null", () => {
  const form = { subject: "t-value", version: 1, schemaId: 7, format: "AVRO", schema: "{}", fields: ORDER, example: "{}" };
  const state = startOfPart(form, "JSON");

  assert.equal(state.format, "AVRO");
  assert.equal(partOf(form, { ...state, typed: changed(state.typed, ["id"], "5") })?.text.startsWith('{"id": 5,'), true);
  assert.deepEqual(partOf(form, { ...state, byForm: false, text: "{}" }), { format: "AVRO", text: "{}" });
  assert.equal(partOf(form, { ...state, format: "NULL" }), null);
  assert.deepEqual(partOf(null, startOfPart(null, "STRING")), { format: "STRING", text: "" });
  const single = { ...form, fields: { type: "string" } };
  assert.deepEqual(partOf(single, { ...state, typed: "hi" }), { format: "AVRO", text: "hi" });
});

test("topics are checked as the server does", () => {
  assert.equal(problemOfName("orders.v1_x-y"), "");
  assert.notEqual(problemOfName("a/b"), "");
  assert.notEqual(problemOfName(".."), "");
  assert.notEqual(problemOfName("x".repeat(250)), "");
  assert.deepEqual(settingsOf("a=1\n\n b = x=y "), { a: "1", b: "x=y" });
  assert.throws(() => settingsOf("nonsense"), /nonsense/);
});

test("a search goes on at its limits, and ends when the page is full, stopped or at the end", () => {
  const page = (change: Partial<Page>): Page => ({ records: [], read: 5, matched: 0, bytesRead: 7, stopped: "time", end: false, next: "c", ...change });

  assert.equal(goesOn(page({}), 50), true);
  assert.equal(goesOn(page({ stopped: "stopped" }), 50), false);
  assert.equal(goesOn(page({ stopped: "limit" }), 50), false);
  assert.equal(goesOn(page({ next: null }), 50), false);
  assert.equal(goesOn(page({ end: true }), 50), false);
  const full = page({ records: Array.from({ length: 50 }, () => ({}) as BrowsedRecord) });
  assert.equal(goesOn(full, 50), false);
  const sum = joined(page({ matched: 1, records: [{ offset: "1" } as BrowsedRecord] }), page({ next: "d", records: [{ offset: "2" } as BrowsedRecord] }));
  assert.deepEqual([sum.read, sum.bytesRead, sum.matched, sum.next, sum.records.map((one) => one.offset)], [10, 14, 1, "d", ["1", "2"]]);
});

test("a search says how far it is", () => {
  const topic = { partitions: [{ partition: 0, records: "1000" }, { partition: 1, records: "9007199254740993" }] } as unknown as Topic;
  const page = { read: 1500, records: [{}] } as unknown as Page;

  assert.equal(offsetsOf(topic, SEEK), "9007199254741993");
  assert.equal(offsetsOf(topic, { ...SEEK, partition: "0" }), "1000");
  assert.equal(offsetsOf(topic, { ...SEEK, from: "@5" }), null);
  assert.equal(progressOf(page, "20000"), "Searching: 1,500 of about 20,000 read, 1 record found.");
  assert.equal(progressOf({ ...page, records: [] }, null), "Searching: 1,500 read, 0 records found.");
});

test("amounts with units become milliseconds and bytes", () => {
  assert.equal(amountOf("retention.ms", " 7d "), "604800000");
  assert.equal(amountOf("retention.ms", "1.5h"), "5400000");
  assert.equal(amountOf("segment.bytes", "2 GiB"), "2147483648");
  assert.equal(amountOf("segment.bytes", "7d"), "7d");
  assert.equal(amountOf("cleanup.policy", "7d"), "7d");
  assert.equal(amountOf("retention.ms", "-1"), "-1");
  assert.equal(hintOf("retention.ms", "2d"), "172800000, 2 d");
  assert.equal(hintOf("retention.ms", "172800000"), "2 d. Milliseconds, or with a unit: 12h, 7d");
  assert.equal(hintOf("cleanup.policy", "delete"), undefined);
});

test("a lower limit of retention is noticed, also below none", () => {
  const retention = (value: string | null) => ({ name: "retention.ms", value });

  assert.equal(lowers(retention("604800000"), "1d"), true);
  assert.equal(lowers(retention("604800000"), "8d"), false);
  assert.equal(lowers(retention("-1"), "8d"), true);
  assert.equal(lowers(retention("1000"), "-1"), false);
  assert.equal(lowers({ name: "segment.ms", value: "604800000" }, "1d"), false);
});

test("what uses a topic is named by kind", () => {
  const readers = { groups: [{ group: "billing", members: 2 }, { group: "old", members: 0 }], total: 2, problems: [] } as never;
  const graph = { nodes: [{ id: "1", kind: "topic", name: "t" }, { id: "2", kind: "stream", name: "S" }, { id: "3", kind: "query", name: "Q" }] };

  assert.deepEqual(usersOf(readers, graph), [
    ["Groups that read it", ["billing (2 members)", "old"]],
    ["Streams and tables before or after it", ["S"]],
    ["Queries before or after it", ["Q"]],
  ]);
  assert.deepEqual(usersOf(null, null), []);
});
