// Where the time of a CPU profile was spent: self time by layer of the project, of Node and of packages.

const FOLDERS = ['client', 'protocol', 'service', 'server', 'core', 'stores', 'cli']

/** Milliseconds a layer, and the functions that took the most. `root` is where the build is. */
export function layersOf(profile, root) {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const selfMs = new Map()
  profile.samples.forEach((id, index) => {
    selfMs.set(id, (selfMs.get(id) ?? 0) + profile.timeDeltas[index] / 1_000)
  })
  const layers = {}
  const functions = {}
  for (const [id, ms] of selfMs) {
    const { callFrame } = nodes.get(id)
    const layer = layerOf(callFrame, root)
    layers[layer] = (layers[layer] ?? 0) + ms
    const name = nameOf(callFrame, root)
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

function layerOf({ functionName, url }, root) {
  if (functionName === '(idle)') return 'idle'
  if (functionName === '(garbage collector)') return 'gc'
  const path = pathOf(url)
  const packageName = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]
  if (packageName) return `package ${packageName}`
  if (path.startsWith(`${root}/`)) {
    const [folder] = path.slice(root.length + 1).split('/')
    return FOLDERS.includes(folder) ? folder : 'main'
  }
  if (path.includes('/bench/')) return 'load'
  // Node's own sources, its native parts, and what V8 has built in (JSON, Map, promises).
  return 'node'
}

function nameOf({ functionName, url, lineNumber }, root) {
  const path = pathOf(url)
    .replace(`${root}/`, '')
    .replace(/^.*\/node_modules\//, '')
  if (functionName.startsWith('(') && !path) return functionName
  return `${functionName || 'anonymous'} ${path ? `${path}:${lineNumber + 1}` : 'built in'}`
}

function pathOf(url) {
  return url.startsWith('file://') ? decodeURIComponent(new URL(url).pathname) : url
}
