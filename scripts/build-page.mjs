// The dashboard, built by Vite: the same sources make the same files, and nothing is fetched for it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'
import { licences } from './bundle.mjs'

const root = fileURLToPath(new URL('../packages/dashboard/src/', import.meta.url))

/** Builds it into `dashboard/` of this folder, with each file also as it travels. */
export async function buildPage(folder) {
  const outDir = resolve(folder, 'dashboard')
  // Vite goes by it, and it is another one in tests.
  process.env.NODE_ENV = 'production'
  const { output } = await build({
    root,
    configFile: false,
    envDir: false,
    // It may stand behind a proxy, below another path.
    base: './',
    publicDir: false,
    logLevel: 'warn',
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2022',
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
  })
  writeFileSync(join(outDir, 'LICENSES.txt'), licences(output.flatMap(({ moduleIds }) => moduleIds ?? [])))
  for (const path of readdirSync(outDir, { recursive: true, encoding: 'utf8' }))
    if (/\.(html|js|css|svg)$/.test(path)) compress(join(outDir, path))
}

function compress(path) {
  const plain = readFileSync(path)
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  writeFileSync(`${path}.br`, brotliCompressSync(plain, { params: quality }))
  writeFileSync(`${path}.gz`, gzipSync(plain, { level: constants.Z_BEST_COMPRESSION }))
}
