// Servers as processes of their own, which are ended by their pids.
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** @type {import('node:child_process').ChildProcess[]} */
const running = []

/**
 * Starts a server, and resolves with what `ready` finds in its log.
 * @param {string} program
 * @param {string[]} args
 * @param {{ log: string, ready: RegExp }} options
 */
export async function start(program, args, { log, ready }) {
  const output = openSync(log, 'a')
  const child = spawn(program, args, { stdio: ['ignore', output, output] })
  closeSync(output)
  /** @type {Error | undefined} */
  let failure
  child.once('error', (error) => {
    failure = error
  })
  running.push(child)
  const found = async () => {
    if (failure) throw failure
    const text = await readFile(log, 'utf8')
    if (child.exitCode !== null) throw new Error(`${program} has ended:\n${text}`)
    return ready.exec(text)?.[1]
  }
  return until(`${program} is ready`, found)
}

/**
 * What a program prints.
 * @param {string} program
 * @param {string[]} args
 */
export async function ask(program, args) {
  const { stdout } = await promisify(execFile)(program, args, { timeout: 60_000 })
  return stdout
}

/**
 * @template Value
 * @param {string} what
 * @param {() => Promise<Value>} look
 * @returns {Promise<NonNullable<Value>>}
 */
export async function until(what, look) {
  for (let tries = 0; tries < 1_200; tries++) {
    const value = await look()
    if (value) return value
    await sleep(50)
  }
  throw new Error(`waited in vain until ${what}`)
}

/**
 * The last first: containerd before its content store, and that before the lock server. Then the folder is removed.
 * @param {string} folder
 */
export async function stopAll(folder) {
  for (const child of running.splice(0).reverse()) {
    if (child.pid === undefined || child.exitCode !== null) continue
    const late = setTimeout(() => child.kill('SIGKILL'), 5_000)
    child.kill('SIGTERM')
    await once(child, 'exit')
    clearTimeout(late)
  }
  // Of a process that had to be killed: a folder in which something is mounted cannot be removed.
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  const inside = mounts.map((line) => line.split(' ')[4] ?? '').filter((path) => path.startsWith(`${folder}/`))
  for (const path of inside.reverse()) spawnSync('umount', ['--lazy', path])
  await rm(folder, { recursive: true, force: true })
}
