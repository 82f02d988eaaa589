import { mkdtempSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from '../../../scripts/bundle.mjs'
import { root } from './build.mjs'

const external = ['@grpc/grpc-js', 'mysql2', 'protobufjs', 'ws', '@opentelemetry/api']

/** Bundles TypeScript that no build exports, such as the fault harness. Returns the path of the module; it is removed when this process ends. */
export async function bundled(source) {
  const outDir = mkdtempSync(fileURLToPath(new URL('../dist.', import.meta.url)))
  process.on('exit', () => rmSync(outDir, { recursive: true, force: true }))
  const name = basename(source, '.ts')
  await bundle({ entries: { [name]: join(root, source) }, outDir, external, chunks: '' })
  return join(outDir, `${name}.js`)
}
