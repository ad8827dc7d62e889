import assert from "node:assert/strict";
import { test } from "node:test";
import { parseJson } from "../src/lib/json";

test("numbers that a double does not hold stay texts", () => {
  const text = '{"a":9223372036854775807,"b":-9007199254740993,"c":0.1234567890123456789,"d":1.10,"e":1e400}';

  assert.deepEqual(parseJson(text), {
    a: "9223372036854775807",
    b: "-9007199254740993",
    c: "0.1234567890123456789",
    d: "1.10",
    e: "1e400",
  });
});

test("all other numbers are numbers", () => {
  assert.deepEqual(parseJson("[0, -1, 1.5, 9007199254740991, 123456789012345]"), [
    0, -1, 1.5, 9007199254740991, 123456789012345,
  ]);
});

test("texts with digits, quotes and backslashes stay as they are", () => {
  const value = { 'a"1.10': '9223372036854775807 \\" \\\\', b: ["\\", '"', "1.10"], "": { n: null, t: true } };

  assert.deepEqual(parseJson(JSON.stringify(value)), value);
});

test("text that is not JSON is refused as by JSON.parse", () => {
  for (const text of ["", "{", '"abc', "[1.10", "-", "01", "nope"]) {
    assert.throws(() => parseJson(text), SyntaxError, text);
  }
});
