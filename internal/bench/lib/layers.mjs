// Where the time of a CPU profile was spent: self time by package of the project, of Node, and of npm.
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './build.mjs'

/** Milliseconds by layer, and the functions that took the most. Bundled code is found in its sources by its source maps. */
export function layersOf(profile) {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const selfMs = new Map()
  profile.samples.forEach((id, index) => {
    selfMs.set(id, (selfMs.get(id) ?? 0) + profile.timeDeltas[index] / 1_000)
  })
  const layers = {}
  const functions = {}
  for (const [id, ms] of selfMs) {
    const { callFrame } = nodes.get(id)
    const place = placeOf(callFrame)
    const layer = layerOf(callFrame, place)
    layers[layer] = (layers[layer] ?? 0) + ms
    const name = nameOf(callFrame, place)
    functions[name] = (functions[name] ?? 0) + ms
  }
  const { idle: idleMs = 0, ...busy } = layers
  delete functions['(idle)']
  const busyMs = Object.values(busy).reduce((sum, ms) => sum + ms, 0)
  return { idleMs, busyMs, layers: ranked(busy, busyMs), functions: ranked(functions, busyMs) }
}

const ranked = (record, all) =>
  Object.entries(record)
    .sort(([, a], [, b]) => b - a)
    .map(([name, ms]) => ({ name, ms, share: ms / all }))

function layerOf({ functionName }, { path }) {
  if (functionName === '(idle)') return 'idle'
  if (functionName === '(garbage collector)') return 'gc'
  const npmPackage = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]
  if (npmPackage) return `npm ${npmPackage}`
  if (path.startsWith(`${root}internal/bench/`)) return 'load'
  // Without a package of the project: Node's own sources and native parts, and built-ins of V8 (JSON, Map, promises).
  return path.startsWith(`${root}packages/`) ? path.slice(root.length).split('/')[1] : 'node'
}

function nameOf({ functionName }, { path, line }) {
  if (functionName.startsWith('(') && !path) return functionName
  const file = path.replace(root, '').replace(/^.*\/node_modules\//, '')
  return `${functionName || 'anonymous'} ${file ? `${file}:${line + 1}` : 'built in'}`
}

/** The file and line of a function, in its source if there is a source map. */
function placeOf({ url, lineNumber, columnNumber }) {
  if (!url.startsWith('file://')) return { path: url, line: lineNumber }
  const path = fileURLToPath(url)
  const entry = sourceMapOf(path)?.findEntry(lineNumber, columnNumber)
  if (!entry?.originalSource) return { path, line: lineNumber }
  return { path: resolve(dirname(path), entry.originalSource), line: entry.originalLine }
}

const sourceMaps = new Map()

function sourceMapOf(path) {
  if (!sourceMaps.has(path)) {
    const file = `${path}.map`
    sourceMaps.set(path, existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : undefined)
  }
  return sourceMaps.get(path)
}
