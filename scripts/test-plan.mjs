// What `npm test` runs, in which order, and what that needs beside Node. Tables, and what follows from them; nothing is done here.

const OPENSSL = [
  'src/cli/config/serve-config.test.ts',
  'src/server/client-certificate.test.ts',
  'src/server/reload.test.ts',
  'src/server/tls.test.ts',
  'src/stores/etcd/client/access.test.ts',
  'test/e2e/cli-secure.test.ts',
  'test/e2e/operations-etcd.test.ts',
  'test/e2e/token.test.ts',
  'test/sdk/certificates.test.ts',
]

const MARIADB = [
  'src/stores/mysql/mysql-store.test.ts',
  'src/testing/harness/mariadb.test.ts',
  'test/e2e/content-mysql.test.ts',
  'test/e2e/examples-mysql.test.ts',
  'test/e2e/mysql-faults.test.ts',
  'test/e2e/mysql-paused.test.ts',
  'test/e2e/mysql.test.ts',
  'test/e2e/rolling-restart.test.ts',
  'test/e2e/readme-mysql.test.ts',
  'test/stores/mysql.test.ts',
  'test/stores/versions-mysql.test.ts',
]

const ETCD = [
  'src/stores/etcd/client.test.ts',
  'src/stores/etcd/client/access.test.ts',
  'src/stores/etcd/client/connections.test.ts',
  'src/stores/etcd/client/outages.test.ts',
  'src/stores/etcd/client/watches.test.ts',
  'src/stores/etcd/etcd-store.test.ts',
  'src/testing/harness/etcd.test.ts',
  'test/deploy-etcd.test.ts',
  'test/e2e/etcd-faults.test.ts',
  'test/e2e/etcd.test.ts',
  'test/e2e/operations-etcd.test.ts',
  'test/e2e/readme-etcd.test.ts',
  'test/stores/etcd-stale.test.ts',
  'test/stores/etcd.test.ts',
]

/** Content stores over the union of their folders, and a containerd over most of them. */
const CONTENT = [
  'test/e2e/content-away.test.ts',
  'test/e2e/content-cli.test.ts',
  'test/e2e/content-example.test.ts',
  'test/e2e/content-faults.test.ts',
  'test/e2e/content-mysql.test.ts',
  'test/e2e/content-page.test.ts',
  'test/e2e/content-private.test.ts',
  'test/e2e/content-removal.test.ts',
  'test/e2e/content-stalled.test.ts',
  'test/e2e/content-wire.test.ts',
  'test/e2e/content.test.ts',
]
const CHROMIUM = ['test/browser/dashboard.test.ts']
const CONTAINERD = ['src/testing/harness/content/stage.test.ts', ...CONTENT]

/** Which test files need what. Those of something that is missing are left out, by name; no other test ever is. */
export const needs = [
  { name: 'openssl', package: 'openssl', tests: OPENSSL },
  { name: 'mariadbd', package: 'mariadb-server-core', tests: MARIADB },
  // mariadb-install-db calls it, and comes without it.
  { name: 'my_print_defaults', package: 'mariadb-client-core', tests: MARIADB },
  { name: 'etcd', package: 'etcd-server', tests: ETCD },
  { name: 'etcdctl', package: 'etcd-client', tests: ['test/e2e/operations-etcd.test.ts'] },
  { name: 'chromium', package: 'chromium', tests: CHROMIUM },
  { name: 'strace', package: 'strace', tests: ['test/e2e/file-sync-order.test.ts'] },
  { name: 'promtool', package: 'prometheus', tests: ['test/deploy-promtool.test.ts'] },
  { name: 'tmux', package: 'tmux', tests: ['test/e2e/status-watch.test.ts'] },
  { name: 'containerd', package: 'containerd', tests: CONTAINERD },
  { name: 'ctr', package: 'containerd', tests: CONTAINERD },
  { name: 'docker-registry', package: 'docker-registry', tests: CONTAINERD },
  { name: 'mergerfs', package: 'mergerfs', tests: CONTENT },
  { name: '/dev/fuse', how: '`modprobe fuse`, or give the container that device', tests: CONTENT },
  {
    name: 'the right to mount a disk',
    how: 'run it as root on Linux',
    tests: ['test/e2e/file-disk-full.test.ts', ...CONTAINERD],
  },
]

/** What mostly waits: for leases and outages to be over, or for a time that is given to be full. */
const PATIENT = [
  'src/stores/etcd/client/connections.test.ts',
  'src/stores/etcd/client/outages.test.ts',
  'test/e2e/busy.test.ts',
  'test/e2e/content-away.test.ts',
  'test/e2e/etcd-faults.test.ts',
  'test/e2e/etcd.test.ts',
  'test/e2e/faults.test.ts',
  'test/e2e/file-store.test.ts',
  'test/e2e/mysql-faults.test.ts',
  'test/e2e/mysql-paused.test.ts',
  'test/e2e/mysql.test.ts',
  'test/e2e/operations-etcd.test.ts',
  'test/e2e/rolling-restart.test.ts',
]

/** They collect all garbage, again and again: in a process that has loaded what other tests need, that takes many times as long. */
const COLLECTING = ['src/grpc/fuzz.test.ts']

/**
 * One round after another. A round has lanes, which run side by side, and a lane has runs, one after another. Two cores are
 * enough for two workers that compute and one that mostly waits for real processes; what only computes takes, at low
 * priority, what these leave over.
 */
export const rounds = [
  [
    [
      {
        tests: [
          'src',
          'test/consumer',
          'test/containerd-page',
          'test/deploy',
          'test/docs',
          'test/readme',
          'test/rules',
          'test/runner',
          'test/scenarios',
          'test/sdk',
          'test/stores',
          'test/tidy',
        ],
        workers: 2,
        except: [...COLLECTING, ...PATIENT],
        // To load the sources anew for every file takes longer than most of them run.
        isShared: true,
        // What goes by the clock comes first: faults that are due within some seconds have to meet processes that got to work.
        nice: 5,
      },
      { tests: ['test/e2e'], except: PATIENT, workers: 2, isShared: true },
      { tests: ['test/browser', ...COLLECTING], workers: 1 },
    ],
    [{ tests: PATIENT, workers: 1, isShared: true }],
    // Each of these fills two cores by itself.
    [{ tests: ['test/simulator', 'test/bugs'], workers: 1, nice: 19 }],
  ],
  // It measures milliseconds.
  [[{ tests: ['test/alone'], workers: 1 }]],
]

/**
 * Arguments of `npm test` beside `--all` are vitest's: paths, say, and then there is one round. Where nothing may be left out
 * (`--all`, or `CI` in the environment), a plan with something left out is refused.
 */
export function planOf({ missing, args = [], ci }) {
  const own = args.filter((arg) => arg !== '--all')
  // What flags leave of the tests, only vitest knows.
  const paths = own.some((arg) => arg.startsWith('-')) ? [] : own
  const isMeant = (test) => paths.length === 0 || paths.some((path) => test.includes(path))
  const wanting = needs.filter(({ name }) => missing.includes(name))
  const tests = [...new Set(wanting.flatMap((need) => need.tests))].filter(isMeant)
  const isRefused = tests.length > 0 && (Boolean(ci) || own.length < args.length)
  return {
    rounds: own.length > 0 ? [[[{ tests: own, workers: 2 }]]] : rounds,
    leftOut: tests,
    lines: tests.map((test) => {
      const wants = wanting.filter((need) => need.tests.includes(test))
      return `left out: ${test}, for want of ${wants.map(({ name }) => name).join(' and ')} (${waysTo(wants)})`
    }),
    isRefused,
  }
}

function waysTo(wants) {
  const packages = wants.flatMap((need) => need.package ?? [])
  const ways = wants.flatMap(({ how }) => how ?? [])
  if (packages.length > 0) ways.unshift(`apt-get install ${packages.join(' ')}`)
  return ways.join('; ')
}
