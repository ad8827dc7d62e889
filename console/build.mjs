// Builds the console into a folder: hashed names, one chunk for each screen, .br and .gz next to each file.
//
//   node build.mjs --out FOLDER
//
// FOLDER gets index.html (with {{base}} and {{nonce}} for the server to fill in), manifest.json and
// THIRD_PARTY.txt with the licences of the packages whose code is in the bundle.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFile, readdir, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const ROOT = path.dirname(fileURLToPath(import.meta.url));
const TYPES = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
const COMPRESSED_FROM = 512;

const outAt = process.argv.indexOf("--out");
if (outAt < 0 || !process.argv[outAt + 1]) {
  console.error("usage: node build.mjs --out FOLDER");
  process.exit(2);
}
const out = path.resolve(process.argv[outAt + 1]);
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });

const result = await build({
  absWorkingDir: ROOT,
  entryPoints: { main: "src/main.tsx" },
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  metafile: true,
  legalComments: "none",
  charset: "utf8",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".svg": "file" },
  logLevel: "warning",
});

// Names of the inputs, as in the metafile, depend on nothing outside this folder.
const outputs = Object.entries(result.metafile.outputs).map(([file, about]) => ({
  name: path.basename(file),
  about,
}));
const main = outputs.find(({ about }) => about.entryPoint === "src/main.tsx");
const files = {};
for (const { name } of outputs) {
  const type = TYPES[path.extname(name)];
  if (!type) throw new Error(`no media type for ${name}`);
  const content = await readFile(path.join(out, name));
  const encodings = [];
  if (content.length >= COMPRESSED_FROM) {
    encodings.push("br", "gzip");
    await writeFile(path.join(out, `${name}.br`), brotli(content));
    await writeFile(path.join(out, `${name}.gz`), gzipSync(content, { level: 9 }));
  }
  files[name] = { type, encodings, bytes: content.length };
}

const css = main.about.cssBundle ? path.basename(main.about.cssBundle) : "";
const icon = await asset("src/shell/icon.svg");
const early = firstLoad(main.name);
const index = (await readFile(path.join(ROOT, "src/index.html"), "utf8"))
  .replaceAll("{{main}}", main.name)
  .replaceAll("{{css}}", css)
  .replaceAll("{{icon}}", icon)
  .replace(
    "{{preload}}",
    early
      .filter((name) => name !== main.name && name.endsWith(".js"))
      .map((name) => `<link rel="modulepreload" href="{{base}}/console/assets/${name}">`)
      .join("\n"),
  );
await writeFile(path.join(out, "index.html"), index);
await writeFile(path.join(out, "THIRD_PARTY.txt"), await licences());
const manifest = { main: main.name, css, first_load: [...early, css], files };
await writeFile(path.join(out, "manifest.json"), JSON.stringify(manifest, null, 1) + "\n");

function brotli(content) {
  return brotliCompressSync(content, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
  });
}

// A file that is not imported by any script.
async function asset(file) {
  const content = await readFile(path.join(ROOT, file));
  const digest = createHash("sha256").update(content).digest("hex").slice(0, 8).toUpperCase();
  const name = `${path.basename(file, path.extname(file))}-${digest}${path.extname(file)}`;
  await writeFile(path.join(out, name), content);
  files[name] = { type: TYPES[path.extname(file)], encodings: [], bytes: content.length };
  return name;
}

// The scripts that a browser needs before it can show a page: main.js and what it imports at once.
function firstLoad(start) {
  const found = new Set();
  const wait = [start];
  while (wait.length > 0) {
    const name = wait.pop();
    if (found.has(name)) continue;
    found.add(name);
    const { about } = outputs.find((one) => one.name === name);
    for (const one of about.imports) {
      if (one.kind === "import-statement" && !one.external) wait.push(path.basename(one.path));
    }
  }
  return [...found].sort();
}

async function licences() {
  const packages = new Set();
  for (const input of Object.keys(result.metafile.inputs)) {
    const found = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (found) packages.add(found[1]);
  }
  const parts = ["The console of Duolog contains code of these packages.\n"];
  for (const name of [...packages].sort()) {
    const folder = path.join(ROOT, "node_modules", name);
    const about = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const legal = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice)/i.test(file)).sort();
    if (legal.length === 0) throw new Error(`the package ${name} has no file with its licence`);
    parts.push(`${"=".repeat(80)}\n${name} ${about.version} (${about.license})\n`);
    for (const file of legal) parts.push((await readFile(path.join(folder, file), "utf8")).trim() + "\n");
  }
  return parts.join("\n");
}
