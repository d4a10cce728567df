/*
 * One bundle per page, under a fixed name, with no chunks of its own.
 *
 * Django's hashed storage renames every file and knows nothing of the imports between modules, so a page must not
 * need a second file by name. The price is that React is built into several bundles; no page ever loads two of them.
 */
import { rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const here = dirname(fileURLToPath(import.meta.url));
const outDir = resolve(here, "../dist");

rmSync(outDir, { recursive: true, force: true });

for (const page of ["studio", "run", "edit", "compare", "worker", "replay", "keep", "runs", "audit", "palette", "passkeys"]) {
  await build({
    root: here,
    logLevel: "warn",
    base: "./",
    define: { "process.env.NODE_ENV": JSON.stringify("production") },
    build: {
      outDir,
      emptyOutDir: false,
      target: "es2022",
      modulePreload: false,
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1000,
      rolldownOptions: {
        // React Flow marks its modules "use client", which means nothing without a server that renders React.
        onLog: (level, log, write) => log.code === "MODULE_LEVEL_DIRECTIVE" || write(level, log),
        input: { [page]: resolve(here, `src/${page}.ts`) },
        output: {
          format: "es",
          codeSplitting: false,
          entryFileNames: "[name].js",
          assetFileNames: "[name][extname]",
        },
      },
    },
  });
}
