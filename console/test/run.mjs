// Runs the unit tests: each test/*.test.ts is bundled by esbuild and run by Node's own test runner.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(path.join(here, ".built-"));
try {
  const tests = readdirSync(here).filter((name) => name.endsWith(".test.ts") || name.endsWith(".test.tsx"));
  await build({
    entryPoints: tests.map((name) => path.join(here, name)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    jsx: "automatic",
    jsxImportSource: "preact",
    sourcemap: "inline",
    loader: { ".css": "empty" },
    logLevel: "warning",
  });
  const built = readdirSync(out).map((name) => path.join(out, name));
  const done = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...built], { stdio: "inherit" });
  process.exitCode = done.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
