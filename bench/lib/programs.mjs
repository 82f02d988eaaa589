// Programs of others: Debian's packages, and npm packages that only benchmarks need.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installMissing, PATH } from '../../scripts/setup-tests.mjs'

export { PATH }

const debian = { 'redis-server': 'redis-server', etcd: 'etcd-server', wrk: 'wrk', mariadbd: 'mariadb-server-core' }

/** Says why a program cannot be had, or nothing if it is there now. As root on Debian it is installed. */
export function whyMissing(name) {
  const missing = installMissing([{ name, package: debian[name] }])
  return missing.length === 0 ? undefined : `${name} is missing: apt-get install ${debian[name]}`
}

/** What bench/peers needs from npm, on first use. Says why it cannot be had, or nothing. */
export function whyNoPeers() {
  const folder = fileURLToPath(new URL('../peers', import.meta.url))
  if (existsSync(`${folder}/node_modules/.package-lock.json`)) return undefined
  const args = ['ci', '--no-audit', '--no-fund', '--ignore-scripts']
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  return status === 0 ? undefined : 'the packages of bench/peers are missing: npm ci --prefix bench/peers'
}
