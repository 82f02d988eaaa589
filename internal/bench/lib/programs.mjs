// The software that Baton is compared with: packages of Debian and of npm.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installMissing, PATH } from '../../../scripts/setup-tests.mjs'

export { PATH }

const debian = { 'redis-server': 'redis-server', etcd: 'etcd-server', wrk: 'wrk', mariadbd: 'mariadb-server-core' }

/** Why a program is missing, `undefined` if it is present. As root on Debian, it is installed first. */
export function whyMissing(name) {
  const missing = installMissing([{ name, package: debian[name] }])
  return missing.length === 0 ? undefined : `${name} is missing: apt-get install ${debian[name]}`
}

/** Installs the packages of internal/bench/peers on first use. Returns why they are missing, `undefined` if they are present. */
export function whyNoPeers() {
  const folder = fileURLToPath(new URL('../peers', import.meta.url))
  if (existsSync(`${folder}/node_modules/.package-lock.json`)) return undefined
  const args = ['ci', '--no-audit', '--no-fund', '--ignore-scripts']
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  return status === 0
    ? undefined
    : 'the packages of internal/bench/peers are missing: npm ci --prefix internal/bench/peers'
}
