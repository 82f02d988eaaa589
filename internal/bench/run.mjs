// One script for each question: `npm run bench -- peers`. `--node 22,24` repeats it on those versions of Node.
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nodeProgram } from './lib/node-versions.mjs'
import { circumstances, report } from './lib/report.mjs'
import { settingsOf } from './lib/settings.mjs'

const args = process.argv.slice(2)
// `*-process.mjs` are parts of benchmarks.
const names = readdirSync(new URL('.//', import.meta.url))
  .filter((each) => each.endsWith('.mjs') && each !== 'run.mjs' && !each.endsWith('-process.mjs'))
  .map((each) => each.slice(0, -4))
const name = args.find((each) => names.includes(each))
if (!name) {
  console.error(`which one? ${names.join(', ')}`)
  process.exit(64)
}
// Scripts without `measure` take their settings from the environment, print, and are done once they are loaded.
const { settings } = settingsOf(args)
if (settings.node) {
  const own = { ...settings, node: undefined }
  const flags = Object.entries(own).flatMap(([flag, value]) =>
    value === undefined ? [] : [`--${flag}`, String(value)],
  )
  for (const version of String(settings.node).split(',')) {
    const command = [fileURLToPath(import.meta.url), name, ...flags]
    const { status } = spawnSync(nodeProgram(version), command, { stdio: 'inherit' })
    if (status !== 0) process.exit(status ?? 1)
  }
} else {
  // Every child process and every temporary folder adds an `exit` listener.
  process.setMaxListeners(0)
  const around = circumstances()
  const benchmark = await import(new URL(`${name}.mjs`, import.meta.url))
  if (benchmark.measure) {
    const result = await benchmark.measure(settings)
    if (result.rows) report({ name, title: benchmark.title, settings, around, ...result })
    // Ends child processes, and does not wait for connections that libraries left open.
    process.exit(0)
  }
}
