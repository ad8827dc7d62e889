import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bytesOfHex,
  changeOf,
  hexOf,
  modeOf,
  parametersOf,
  sumOf,
  textOf,
  type Outcome,
} from "../src/screens/dead-letters/letters";

const bytes = (...all: number[]) => Uint8Array.from(all);

test("digits become bytes and bytes digits", () => {
  assert.deepEqual(bytesOfHex(" ff 00\n3C"), bytes(255, 0, 60));
  assert.deepEqual(bytesOfHex(""), bytes());
  assert.throws(() => bytesOfHex("f"), /one is missing/);
  assert.throws(() => bytesOfHex("0x"), /Only the digits/);
  assert.equal(hexOf(bytes(255, 0, 60)), "ff 00 3c");
  assert.equal(hexOf(new Uint8Array(17)).split("\n").length, 2);
});

test("a change is what a request has", () => {
  assert.equal(changeOf("same", "x"), undefined);
  assert.deepEqual(changeOf("null", "x"), { null: true });
  assert.deepEqual(changeOf("text", " é\n"), { text: " é\n" });
  assert.deepEqual(changeOf("hex", "ff00"), { base64: "/wA=" });
});

test("JSON is checked, and sent as it was written", () => {
  assert.deepEqual(changeOf("json", '{"n": 12345678901234567890.10}'), { text: '{"n": 12345678901234567890.10}' });
  assert.throws(() => changeOf("json", "{"), /This is not JSON/);
});

test("only valid UTF-8 is a text", () => {
  assert.equal(textOf(bytes(0xc3, 0xa9)), "é");
  assert.equal(textOf(bytes(0xff)), null);
  // A byte order mark would be lost, and the corrected record would differ.
  assert.equal(textOf(bytes(0xef, 0xbb, 0xbf, 0x61)), "\ufeffa");
});

test("bytes are corrected in the form that fits", () => {
  assert.equal(modeOf(new TextEncoder().encode(' {"a": 1}')), "json");
  assert.equal(modeOf(new TextEncoder().encode("three\n")), "text");
  assert.equal(modeOf(bytes(0x61, 0)), "hex");
  assert.equal(modeOf(bytes(0xff)), "hex");
});

const outcome = (letters: number, more: Partial<Outcome> = {}): Outcome => ({
  dryRun: false,
  letters,
  corrected: 0,
  written: [{ topic: "t", partition: 0, letters }],
  kept: [],
  failed: 0,
  more: false,
  next: null,
  ...more,
});

test("the outcomes of several requests are added", () => {
  const first = outcome(3, { kept: [{ why: "null", letters: 1 }], next: "0:3-9" });
  const second = outcome(2, {
    written: [
      { topic: "t", partition: 0, letters: 1 },
      { topic: "t", partition: null, letters: 1 },
    ],
    kept: [{ why: "null", letters: 2 }],
  });
  const sum = sumOf(sumOf(null, first), second);
  assert.deepEqual([sum.letters, sum.next], [5, null]);
  assert.deepEqual(sum.written, [
    { topic: "t", partition: 0, letters: 4 },
    { topic: "t", partition: null, letters: 1 },
  ]);
  assert.deepEqual(sum.kept, [{ why: "null", letters: 3 }]);
  assert.equal(first.written[0]!.letters, 3);
});

test("a selection becomes parameters", () => {
  const none = { reason: "", query: "", source: "", status: "all", since: "" };
  assert.deepEqual(Object.values(parametersOf(none, 0)).filter((one) => one !== undefined), []);
  const found = parametersOf({ ...none, reason: "x", status: "open", since: "1h" }, 3_600_007);
  assert.deepEqual([found["reason"], found["replayed"], found["since"]], ["x", "false", "7"]);
  assert.equal(parametersOf({ ...none, status: "replayed" }, 0)["replayed"], "true");
});
