import assert from "node:assert/strict";
import { test } from "node:test";
import { score, search } from "../src/lib/fuzzy";

const TOPICS = ["orders", "orders-large", "flights-by-airline", "returned_orders", "ForderTopic"];
const find = (wanted: string, most = 9) => search(wanted, TOPICS, (one) => one, most);

test("the letters must come in their order", () => {
  assert.equal(score("sro", "orders"), null);
  assert.notEqual(score("ors", "orders"), null);
  assert.deepEqual(find("zz"), []);
});

test("a whole word at a start is better than one within, and a short name better than a long one", () => {
  assert.deepEqual(find("orders"), ["orders", "orders-large", "returned_orders"]);
});

test("starts of words are better than letters within", () => {
  assert.equal(find("fba")[0], "flights-by-airline");
  assert.equal(find("ft")[0], "ForderTopic");
});

test("without a search, the first entries are found", () => {
  assert.deepEqual(find("", 2), ["orders", "orders-large"]);
  assert.deepEqual(find("  ", 2), ["orders", "orders-large"]);
});
