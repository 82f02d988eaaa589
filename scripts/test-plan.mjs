// Which test files `npm test` and `npm run verify` run, in which order, and what they need beside Node.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * What a test file may need. A line `// needs: mariadb, openssl` at its top names these; without them the file is left out, by
 * name. `package` is Debian's, `how` says how to get what is no package.
 */
export const needs = {
  openssl: [{ name: 'openssl', package: 'openssl' }],
  mariadb: [
    { name: 'mariadbd', package: 'mariadb-server-core' },
    // mariadb-install-db calls it, and comes without it.
    { name: 'my_print_defaults', package: 'mariadb-client-core' },
  ],
  etcd: [{ name: 'etcd', package: 'etcd-server' }],
  etcdctl: [{ name: 'etcdctl', package: 'etcd-client' }],
  chromium: [{ name: 'chromium', package: 'chromium' }],
  strace: [{ name: 'strace', package: 'strace' }],
  promtool: [{ name: 'promtool', package: 'prometheus' }],
  tmux: [{ name: 'tmux', package: 'tmux' }],
  containerd: [
    { name: 'containerd', package: 'containerd' },
    { name: 'ctr', package: 'containerd' },
    { name: 'docker-registry', package: 'docker-registry' },
  ],
  mergerfs: [
    { name: 'mergerfs', package: 'mergerfs' },
    { name: '/dev/fuse', how: '`modprobe fuse`, or give the container that device' },
  ],
  mount: [{ name: 'the right to mount a disk', how: 'run it as root on Linux' }],
}

const FOLDERS = ['packages', 'internal', 'test']

/** All test files of a checkout: `*.verify.test.ts` belong to `npm run verify`, the others to `npm test`. */
export function testFiles(root) {
  const paths = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  return paths
    .filter((path) => path.endsWith('.test.ts') && !path.includes('/node_modules/'))
    .sort()
    .map((path) => ({ path, needs: needsIn(readFileSync(join(root, path), 'utf8')) }))
}

function needsIn(text) {
  const [, names] = /^\/\/ needs: (.+)\n/.exec(text) ?? []
  return names === undefined ? [] : names.split(', ')
}

const isVerify = ({ path }) => path.endsWith('.verify.test.ts')
/** They measure milliseconds: nothing may run beside them. */
const isAlone = ({ path }) => path.startsWith('test/alone/')
/** Nothing but computing, for minutes. */
const isSimulation = ({ path }) => path.startsWith('internal/faults/bugs/') || path.startsWith('internal/faults/test/')
/** They start servers, databases or browsers, and mostly wait for them. */
const PROCESSES =
  /^(test\/(e2e|consumer|install|deploy)|packages\/(dashboard|containerd)\/test|packages\/store-(mysql|etcd)|internal\/faults\/src\/(harness|content))/
const isProcess = ({ path }) => PROCESSES.test(path)

/**
 * Lanes run side by side, one round after another. On two cores there is room for two workers that mostly wait and one that
 * computes; simulations take, at low priority, what these leave over.
 */
const LANES = [
  { name: 'measurements', has: isAlone, round: 1, workers: 1, nice: 0 },
  { name: 'simulations', has: isSimulation, round: 0, workers: 1, nice: 19 },
  { name: 'real processes', has: isProcess, round: 0, workers: 2, nice: 0 },
  { name: 'in process', has: () => true, round: 0, workers: 2, nice: 5 },
]
const laneOf = (file) => LANES.find(({ has }) => has(file))

/**
 * What to run of `files`, given what is `missing` on this machine. `args` beside `--all` and `--verify` are paths and flags for
 * vitest, and then there is one lane. Where nothing may be left out (`--all`, or `CI` in the environment), a plan that leaves
 * something out is refused.
 */
export function planOf({ files, missing, args = [], ci }) {
  const own = args.filter((arg) => arg !== '--all' && arg !== '--verify')
  const paths = own.filter((arg) => !arg.startsWith('-'))
  const flags = own.filter((arg) => arg.startsWith('-'))
  const meant = files
    .filter((file) => paths.length > 0 || isVerify(file) === args.includes('--verify'))
    .filter(({ path }) => paths.length === 0 || paths.some((part) => path.includes(part)))
  const missingOf = (file) => file.needs.flatMap((need) => needs[need].filter(({ name }) => missing.includes(name)))
  const leftOut = meant.filter((file) => missingOf(file).length > 0)
  const present = meant.filter((file) => missingOf(file).length === 0)
  return {
    rounds:
      paths.length > 0
        ? [[{ name: 'as asked', workers: 2, nice: 0, paths: present.map(({ path }) => path) }]]
        : roundsOf(present),
    flags,
    isRefused: leftOut.length > 0 && (Boolean(ci) || args.includes('--all')),
    lines: leftOut.map((file) => leftOutLine(file.path, missingOf(file))),
  }
}

function roundsOf(files) {
  const lanes = LANES.map((lane) => ({
    ...lane,
    paths: files.filter((file) => laneOf(file) === lane).map(({ path }) => path),
  }))
  const filled = lanes.filter(({ paths }) => paths.length > 0)
  return [0, 1].map((round) => filled.filter((lane) => lane.round === round)).filter((lanesOf) => lanesOf.length > 0)
}

function leftOutLine(path, wants) {
  const packages = [...new Set(wants.flatMap((need) => need.package ?? []))]
  const ways = wants.flatMap(({ how }) => how ?? [])
  if (packages.length > 0) ways.unshift(`apt-get install ${packages.join(' ')}`)
  return `left out: ${path}, which needs ${wants.map(({ name }) => name).join(' and ')} (${ways.join('; ')})`
}
