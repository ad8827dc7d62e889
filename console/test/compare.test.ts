import assert from "node:assert/strict";
import { test } from "node:test";
import { compareNumbers } from "../src/lib/compare";
import { figureColumn } from "../src/parts/columns";
import { countText } from "../src/parts/list";

test("numbers are in the order of their values, texts by all their digits, unknown ones first", () => {
  const numbers = ["10", null, "9223372036854775807", -1, "9223372036854775806", 9, "1.5", 0];

  assert.deepEqual(numbers.sort(compareNumbers), [
    null,
    -1,
    0,
    "1.5",
    9,
    "10",
    "9223372036854775806",
    "9223372036854775807",
  ]);
  assert.equal(compareNumbers(null, undefined), 0);
  assert.equal(compareNumbers(undefined, "0"), -1);
  assert.equal(compareNumbers("9007199254740993", "9007199254740992"), 1);
});

test("a column of figures sorts by value and shows what is known", () => {
  const column = figureColumn<{ n: string | null }>("n", "Number", 90, (row) => row.n, (value) => `${value} B`);
  const rows = [{ n: "10" }, { n: null }, { n: "9" }];

  assert.deepEqual([...rows].sort(column.sort).map((row) => row.n), [null, "9", "10"]);
  assert.equal(column.cell(rows[0]!, 0), "10 B");
  assert.notEqual(column.cell(rows[1]!, 0), "null B");
});

test("a list says how many of all it shows", () => {
  assert.equal(countText(3, 1200, "group", "groups"), "3 of 1,200 groups");
  assert.equal(countText(0, 1, "group", "groups"), "0 of 1 group");
  assert.equal(countText(1, 1, "group", "groups"), "1 group");
  assert.equal(countText(0, 0, "group", "groups"), "0 groups");
});
