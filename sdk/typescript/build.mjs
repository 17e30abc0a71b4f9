// Builds dist/esm and dist/cjs. The same sources, once as modules of each kind.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
const compiler = join(dirname(createRequire(join(root, "package.json")).resolve("typescript/package.json")), "bin/tsc");

function compile(project, output) {
  execFileSync(process.execPath, [compiler, "-p", project, "--outDir", output], { stdio: "inherit" });
}

rmSync(join(root, "dist"), { recursive: true, force: true });
compile(root, join(root, "dist/esm"));

// The kind of a module follows from the nearest package.json, so the sources get another one.
const staging = mkdtempSync(join(root, ".cjs-"));
try {
  cpSync(join(root, "src"), join(staging, "src"), { recursive: true });
  cpSync(join(root, "tsconfig.json"), join(staging, "tsconfig.json"));
  writeFileSync(join(staging, "package.json"), '{ "type": "commonjs" }\n');
  writeFileSync(join(staging, "src/here.ts"), "/** Module that `require` starts from. */\nexport const here: string = __filename;\n");
  if (existsSync(join(root, "node_modules"))) symlinkSync(join(root, "node_modules"), join(staging, "node_modules"));
  mkdirSync(join(root, "dist/cjs"), { recursive: true });
  compile(staging, join(root, "dist/cjs"));
  writeFileSync(join(root, "dist/cjs/package.json"), '{ "type": "commonjs" }\n');
} finally {
  rmSync(staging, { recursive: true, force: true });
}
