// What the tests need beside Node: looked for, and installed where this user may (root on Debian and its kin).
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { needs } from './test-plan.mjs'

// What only administrators run is not in everybody's path.
export const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`
const isProgram = (name) => spawnSync('sh', ['-c', `command -v ${name}`], { env: { PATH } }).status === 0
const isThere = ({ name, package: debian }) => {
  if (debian) return isProgram(name)
  return name.startsWith('/') ? existsSync(name) : canMount()
}
/** What Debian asks before it starts a server that was just installed: the tests start their own. */
const POLICY = '/usr/sbin/policy-rc.d'

/** For these test files: see `installMissing`. */
export const setUp = (files) =>
  installMissing([...new Set(files.flatMap((file) => file.needs))].flatMap((need) => needs[need]))

/** Installs what can be of `{ name, package }`; returns the names of what is still missing. */
export function installMissing(wanted) {
  const findMissing = () => wanted.filter((need) => !isThere(need))
  const packages = findMissing().flatMap((need) => need.package ?? [])
  if (packages.length > 0 && process.getuid?.() === 0 && isProgram('apt-get')) {
    const isOurs = !existsSync(POLICY)
    if (isOurs) writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
    try {
      install([...new Set(packages)])
    } finally {
      if (isOurs) rmSync(POLICY, { force: true })
    }
  }
  return findMissing().map(({ name }) => name)
}

function install(packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args) => spawnSync('apt-get', args, { env, stdio: 'inherit' }).status === 0
  const failed = packages.filter((name) => !apt('install', '-y', '-q', name))
  if (failed.length > 0 && apt('update', '-q')) for (const name of failed) apt('install', '-y', '-q', name)
}

/** Root may not, inside of some containers. */
function canMount() {
  const directory = mkdtempSync(join(tmpdir(), 'baton-mount-'))
  const run = (program, ...args) => spawnSync(program, args, { stdio: 'ignore' }).status === 0
  try {
    return run('mount', '-t', 'tmpfs', 'tmpfs', directory) && run('umount', directory)
  } finally {
    rmdirSync(directory)
  }
}
