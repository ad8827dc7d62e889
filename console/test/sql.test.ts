// Lines of answers, values without loss, exports, secrets, links, statements at the cursor.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Lines } from "../src/lib/lines";
import { membersOf, plainText, startOf } from "../src/lib/raw-json";
import { csvOf, jsonLinesOf } from "../src/screens/sql/export";
import { stepsOf } from "../src/screens/sql/explain";
import { compare, indented } from "../src/screens/sql/grid";
import { columnsOf, parseLine, printedCells } from "../src/screens/sql/rows";
import { isSecret, publicValues, withoutSecrets } from "../src/screens/sql/secrets";
import { decodeState, encodeState } from "../src/screens/sql/share";
import { statementAt } from "../src/screens/sql/sql";

const BIG = "9223372036854775807";

test("lines come whole, however the text is cut", () => {
  const text = 'a\r\n\n"b😀"\nlast';
  for (let size = 1; size <= text.length; size += 1) {
    const lines = new Lines();
    const found: string[] = [];
    for (let at = 0; at < text.length; at += size) found.push(...lines.push(text.slice(at, at + size)));
    assert.deepEqual([...found, lines.end()], ["a", "", '"b😀"', "last"]);
  }
});

test("a long line takes time linear in its length", () => {
  const lines = new Lines();
  const piece = "x".repeat(65536);
  for (let n = 0; n < 2000; n += 1) assert.deepEqual(lines.push(piece), []);
  assert.equal(lines.push("\n")[0]!.length, 2000 * 65536);
});

test("members of an array stay as they were written", () => {
  const text = `x[${BIG}, "a,]\\"", {"b":[1.10,{"c":"]"}]} ,null,[]]rest`;
  const { members, end } = membersOf(text, 1);
  assert.deepEqual(members, [BIG, '"a,]\\""', '{"b":[1.10,{"c":"]"}]}', "null", "[]"]);
  assert.equal(text.slice(end), "rest");
  assert.deepEqual(membersOf("[]", 0), { members: [], end: 2 });
  assert.deepEqual(membersOf('["a\\\\"]', 0).members, ['"a\\\\"']);
  assert.equal(membersOf('[1,"', 0).end, 4);
});

test("the start of a value is cut between characters", () => {
  assert.deepEqual(startOf('"abc"', 10), { text: "abc", cut: false });
  assert.deepEqual(startOf(BIG, 10), { text: "9223372036", cut: true });
  const value = JSON.stringify('ab\n"😀\\\\ü\u0001c');
  for (let most = 0; most <= value.length; most += 1) {
    const { text, cut } = startOf(value, most);
    assert.ok((JSON.parse(value) as string).startsWith(text), `${most}: ${text}`);
    assert.equal(cut, most < value.length - 2);
  }
  assert.equal(plainText('"a\\u00e9"'), "aé");
});

test("lines of an answer", () => {
  assert.deepEqual(parseLine('[{"header":{"queryId":"q","schema":"`ID` STRING KEY, `N` INTEGER"}},'), {
    of: "header",
    queryId: "q",
    columns: [
      { name: "ID", type: "STRING", key: true },
      { name: "N", type: "INTEGER", key: false },
    ],
  });
  assert.deepEqual(parseLine(`{"row":{"columns":[${BIG},"]}"]}},`), { of: "row", cells: [BIG, '"]}"'], tombstone: false });
  assert.deepEqual(parseLine(',{"row":{"columns":["a",null],"tombstone":true}}'), {
    of: "row",
    cells: ['"a"', "null"],
    tombstone: true,
  });
  assert.deepEqual(parseLine('{"row":{"columns":["\\"tombstone\\":true"]}}]'), {
    of: "row",
    cells: ['"\\"tombstone\\":true"'],
    tombstone: false,
  });
  assert.deepEqual(parseLine('{"continuationToken":{"continuationToken":"t"}},'), { of: "token", token: "t" });
  assert.deepEqual(parseLine('{"finalMessage":"Limit Reached"}]'), { of: "end", message: "Limit Reached" });
  assert.deepEqual(parseLine('{"errorMessage":{"error_code":50302,"message":"gone"}}]'), {
    of: "error",
    code: 50302,
    message: "gone",
  });
  assert.deepEqual(parseLine("]"), { of: "nothing" });
});

test("columns of a schema", () => {
  assert.deepEqual(
    columnsOf("`A B` DECIMAL(4, 2), `S` STRUCT<`X` MAP<STRING, INTEGER>, `Y,` ARRAY<STRING>>, `Q``` BIGINT KEY").map((one) => [one.name, one.type, one.key]),
    [
      ["A B", "DECIMAL(4, 2)", false],
      ["S", "STRUCT<`X` MAP<STRING, INTEGER>, `Y,` ARRAY<STRING>>", false],
      ["Q`", "BIGINT", true],
    ],
  );
});

test("lines of PRINT", () => {
  assert.deepEqual(printedCells("rowtime: 2026/01/02 03:04:05.678 Z, key: a, value: {\"n\":1}, x, partition: 12"), [
    '"2026/01/02 03:04:05.678 Z"',
    '"a"',
    '"{\\"n\\":1}, x"',
    "12",
  ]);
  assert.equal(printedCells("Key format: JSON"), null);
});

test("exports have numbers as they were written, and no formulas", () => {
  const columns = columnsOf("`ID` STRING KEY, `N` BIGINT, `S` STRUCT<`A` INTEGER>");
  const rows = [
    { id: 1, cells: ['"a,\\"b"', BIG, '{"A":1}'], tombstone: false, size: 0 },
    { id: 2, cells: ['"=1+1"', "-5", "null"], tombstone: true, size: 0 },
  ];
  assert.equal(csvOf(columns, rows).join(""), `ID,N,S\r\n"a,""b",${BIG},"{""A"":1}"\r\n'=1+1,-5,\r\n`);
  assert.equal(
    jsonLinesOf(columns, rows),
    `{"ID":"a,\\"b","N":${BIG},"S":{"A":1}}\n{"ID":"=1+1","N":-5,"S":null,"@deleted":true}\n`,
  );
});

test("rows are in the order of their values", () => {
  assert.deepEqual(["10", "9", "null", "-1", "1.5"].sort((a, b) => compare(a, b, true)), ["-1", "1.5", "9", "10", "null"]);
  assert.equal(compare("9223372036854775807", "9223372036854775806", true), 1);
  assert.equal(compare('"a"', '"b"', false), -1);
});

test("an indented value keeps its numbers", () => {
  assert.equal(indented(`{"a":${BIG},"b":[],"c":["x:{",1.10]}`), `{\n  "a": ${BIG},\n  "b": [],\n  "c": [\n    "x:{",\n    1.10\n  ]\n}`);
  assert.equal(indented("null"), "null");
  assert.equal(indented('"a\\nb"'), "a\nb");
});

test("secrets are neither kept nor shared", async () => {
  const sql = "SET 'sasl.jaas.config' = 'x''y'; DEFINE db_password = 'hunter2'; SET 'a' = 'http://me:hunter2@host/';";
  const without = withoutSecrets(sql);
  assert.ok(!/hunter2|x''y/.test(without), without);
  assert.ok(without.includes("SET 'a' = 'http://[hidden]@host/'"));
  assert.equal(withoutSecrets("SELECT secret, password FROM t WHERE a = 'b';"), "SELECT secret, password FROM t WHERE a = 'b';");
  assert.equal(isSecret("ksql.schema.registry.basic.auth.user.info"), true);
  assert.equal(isSecret("auto.offset.reset"), false);
  assert.deepEqual(publicValues({ a: "1", PASSWORD: "2" }), { a: "1" });
  const hash = await encodeState({ sql, properties: { "my.secret": "hunter2" }, variables: { TOKEN: "hunter2", a: "b" } });
  const found = await decodeState(`#${hash}`);
  assert.deepEqual(found, { sql: without, properties: {}, variables: { a: "b" } });
});

test("a link has the whole state, and a damaged one has none", async () => {
  const state = { sql: "SELECT 'ü😀' FROM t;\n".repeat(50), properties: { "auto.offset.reset": "earliest" }, variables: { A: "1" } };
  const hash = await encodeState(state);
  assert.ok(hash.length < 400);
  assert.match(hash, /^s=[\w-]+$/);
  assert.deepEqual(await decodeState(`#${hash}`), state);
  for (const damaged of ["", "#", "#s=", "#s=!!", `#${hash.slice(0, 40)}`, "#token=x", "#s=AAAA"]) {
    assert.equal(await decodeState(damaged), null, damaged);
  }
});

test("a link cannot fill the memory", async () => {
  const hash = await encodeState({ sql: "x".repeat(5_000_000), properties: {}, variables: {} });
  assert.ok(hash.length < 100_000);
  assert.equal(await decodeState(`#${hash}`), null);
});

test("the statement at the cursor", () => {
  const sql = "SHOW STREAMS; -- a; b\nSELECT ';' FROM t;\n\nSELECT `;` FROM u\n  WHERE x";
  assert.equal(statementAt(sql, 0), "SHOW STREAMS;");
  assert.equal(statementAt(sql, 13), "SHOW STREAMS;");
  assert.match(statementAt(sql, 30), /SELECT ';' FROM t;$/);
  assert.equal(statementAt(sql, sql.length), "SELECT `;` FROM u\n  WHERE x");
  assert.equal(statementAt("SHOW STREAMS;\n\n", 15), "SHOW STREAMS;");
  assert.equal(statementAt("", 0), "");
});

test("steps of a plan", () => {
  assert.deepEqual(stepsOf(" > [ Source ] | s-1\n > [ Filter ] | f-2 <- s-1, x\nother"), [
    { kind: "Source", name: "s-1", parents: [] },
    { kind: "Filter", name: "f-2", parents: ["s-1", "x"] },
  ]);
});
