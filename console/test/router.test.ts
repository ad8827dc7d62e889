import assert from "node:assert/strict";
import { test } from "node:test";
import { href, match, paramsOf, pathOf } from "../src/shell/router";

test("a path gives its parameters, decoded", () => {
  assert.deepEqual(paramsOf("/topics/:topic", "/topics/a%2Fb%20c"), { topic: "a/b c" });
  assert.deepEqual(paramsOf("/", "/"), {});
  assert.equal(paramsOf("/topics/:topic", "/topics/"), null);
  assert.equal(paramsOf("/topics/:topic", "/topics/a/b"), null);
  assert.equal(paramsOf("/topics/:topic", "/topics/%ff"), null);
});

test("a path of parameters is read back", () => {
  for (const topic of ["a", "a/b", "ü%2F", "x y?&#"]) {
    assert.deepEqual(paramsOf("/topics/:topic", pathOf("/topics/:topic", { topic })), { topic });
  }
});

test("the first screen that fits is shown", () => {
  const screens = [{ path: "/topics" }, { path: "/topics/:topic" }];

  assert.equal(match(screens, "/topics")?.screen.path, "/topics");
  assert.deepEqual(match(screens, "/topics/x")?.params, { topic: "x" });
  assert.equal(match(screens, "/other"), null);
});

test("links leave empty parameters out", () => {
  assert.equal(href("/topics", { search: "a b", from: "", to: null, page: 0 }), "/console/topics?search=a+b&page=0");
  assert.equal(href("/"), "/console");
});
