import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { baton, killRest, type Running, start, until } from './cli-process.ts'
import { syncOrder } from './sync-order.ts'

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const KILL_RESTART = fileURLToPath(new URL('../../scripts/kill-restart.mjs', import.meta.url))
const SECONDS = Number(process.env.KILL_RESTART_SECONDS ?? 45)

const folder = mkdtempSync(join(tmpdir(), 'baton-file-e2e-'))
let directories = 0
const newDirectory = () => join(folder, `${++directories}`)
afterAll(() => {
  killRest()
  rmSync(folder, { recursive: true, force: true })
})

interface Server {
  readonly url: string
  readonly process: Running
  kill(): Promise<void>
}

async function serve(directory: string, port = '0'): Promise<Server> {
  const process = start(['serve', '--port', port, '--store', `file:${directory}`])
  const url = await until('the server listens', () => /^baton listening on (\S+)\n/.exec(process.stdout())?.[1])
  return {
    url,
    process,
    async kill() {
      process.kill('SIGKILL')
      await process.ended
    },
  }
}

async function post(
  url: string,
  path: string,
  body: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

test(
  `kill -9 at random moments for ${SECONDS} s, under load from 8 clients: every acknowledged change is there`,
  async () => {
    const child = spawn(process.execPath, [KILL_RESTART, '--seconds', `${SECONDS}`], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
    const [code] = await once(child, 'exit')
    expect(code, output).toBe(0)
    const { kills, fences, outcomes, references } = JSON.parse(output.trim().split('\n').at(-1)!)
    expect(kills).toBeGreaterThan(SECONDS / 10)
    expect(Math.min(fences, outcomes, references)).toBeGreaterThan(SECONDS)
  },
  (SECONDS + 120) * 1_000,
)

test('a waiting run survives a restart and is granted in its turn; a running one keeps its grant', async () => {
  const directory = newDirectory()
  const first = await serve(directory)
  const out = join(folder, 'order')
  const gate = join(folder, 'gate')
  const run = (name: string, script: string) =>
    start(['run', 'lock', 'r', '--node', name, '--server', first.url, '--ttl', '20s', '--', 'sh', '-c', script])
  const holder = run('holder', `echo holder $BATON_FENCE >> ${out}; while [ ! -e ${gate} ]; do sleep 0.05; done`)
  await until('the holder runs', () => existsSync(out))
  const waiting = () =>
    fetch(`${first.url}/v1/resource?resource=r`).then((each) => each.json()) as Promise<{
      resource: { waiting: number }
    }>
  const waiters: Running[] = []
  for (const name of ['one', 'two']) {
    waiters.push(run(name, `echo ${name} $BATON_FENCE >> ${out}`))
    await until(`${name} waits`, async () => (await waiting()).resource.waiting === waiters.length)
  }

  await first.kill()
  const second = await serve(directory, new URL(first.url).port)
  expect(second.url).toBe(first.url)
  expect((await waiting()).resource).toMatchObject({ grants: [{ node: 'holder', fence: 1 }], waiting: 2 })
  writeFileSync(gate, '')
  for (const each of [holder, ...waiters]) expect(await each.ended).toMatchObject({ code: 0 })
  expect(readFileSync(out, 'utf8')).toBe('holder 1\none 2\ntwo 3\n')
  await second.kill()
}, 60_000)

test('a second server on the same directory is refused with a sentence that names the first', async () => {
  const directory = newDirectory()
  const first = await serve(directory)
  for (const args of [
    ['serve', '--port', '0', '--store', `file:${directory}`],
    ['store', 'check', directory],
  ]) {
    const { code, stderr } = await baton(args)
    expect(stderr).toBe(
      `baton: ${directory} is in use by process ${first.process.pid}; end that one, or choose another directory\n`,
    )
    expect(code).toBe(69)
  }
  await first.kill()
})

test('a damaged directory is refused, checked and repaired from the command line', async () => {
  const directory = newDirectory()
  const server = await serve(directory)
  for (const resource of ['a', 'b', 'c'])
    await post(server.url, '/v1/acquire', { operation: 'lock', resource, node: 'n' })
  await server.kill()
  expect(await baton(['store', 'check', directory])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/3 grants/),
  })
  const log = readFileSync(join(directory, 'log-0'))
  log[log.indexOf('"b"')]! ^= 1
  writeFileSync(join(directory, 'log-0'), log)
  const refused = await baton(['serve', '--port', '0', '--store', `file:${directory}`])
  expect(refused.code).toBe(69)
  expect(refused.stderr).toMatch(/log-0 in .* is damaged at byte \d+, record 4: .*baton store repair/)
  const checked = await baton(['store', 'check', directory])
  expect(checked).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/2 records \(\d+ bytes\) from there on are lost/),
  })
  const repaired = await baton(['store', 'repair', '--store', `file:${directory}`])
  expect(repaired).toMatchObject({ code: 0, stdout: expect.stringMatching(/log-0 was put aside as log-0.damaged/) })
  expect(await baton(['store', 'check', directory])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/1 grants/),
  })
})

/** Eight clients that ask side by side, and one that listens, on a server whose system calls are written down. */
async function traced(env: NodeJS.ProcessEnv): Promise<ReturnType<typeof syncOrder>> {
  const directory = newDirectory()
  const trace = `${directory}.trace`
  const watched = 'trace=read,write,writev,pwrite64,fdatasync'
  const args = ['-f', '-qq', '-s', '100000', '-e', watched, '-o', trace, process.execPath, MAIN]
  const tracer = spawn('strace', [...args, 'serve', '--port', '0', '--store', `file:${directory}`], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  try {
    const [line] = await once(tracer.stdout, 'data')
    const url = /(http:\S+)/.exec(String(line))![1]!
    const listening = new AbortController()
    await fetch(`${url}/v1/events`, { signal: listening.signal })
    await Promise.all(
      Array.from({ length: 8 }, async (_, client) => {
        for (let count = 0; count < 12; count++) {
          const resource = `mark-${client}-${count}`
          const reply = await post(url, '/v1/acquire', { operation: 'lock', resource, node: 'n' })
          expect(reply.status).toBe(200)
        }
      }),
    )
    listening.abort()
  } finally {
    await stop(tracer)
  }
  return syncOrder(readFileSync(trace, 'utf8'))
}

/** strace and what it has started: a group of its own. */
async function stop(tracer: ChildProcess): Promise<void> {
  const ended = once(tracer, 'exit')
  process.kill(-tracer.pid!, 'SIGKILL')
  await ended
}

describe.runIf(process.platform === 'linux')('under strace', () => {
  test('no reply and no event leaves before the sync that covers it', async () => {
    const { followed, early } = await traced({})
    expect(early).toEqual([])
    expect(followed).toBe(96)
  }, 60_000)

  test('and this check notices a server that does not sync', async () => {
    const { followed, early } = await traced({ BATON_TEST_NO_SYNC: '1' })
    expect(followed).toBe(96)
    expect(early.length).toBeGreaterThan(96)
  }, 60_000)
})

describe.runIf(process.platform === 'linux')('a disk of 8 MB', () => {
  test('that fills up while it works: 503, then space is freed and it goes on, nothing lost', async () => {
    const directory = newDirectory()
    mkdirSync(directory)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', directory], { encoding: 'utf8' })
    if (mounted.status !== 0) throw new Error(`this test mounts a tmpfs, which needs root: ${mounted.stderr}`)
    try {
      const server = await serve(join(directory, 'store'))
      const acknowledged: string[] = []
      const ask = async (resource: string) => {
        const reply = await post(server.url, '/v1/acquire', { operation: 'lock', resource, node: 'n'.repeat(200) })
        if (reply.status === 200) acknowledged.push(resource)
        return reply
      }
      for (let count = 0; count < 20; count++) expect((await ask(`before-${count}`)).status).toBe(200)

      const filler = join(directory, 'filler')
      spawnSync('sh', ['-c', `cat /dev/zero > ${filler}`])
      const refusals = []
      for (let count = 0; refusals.length < 20; count++) {
        if (count > 50_000) throw new Error('the disk never ran full')
        const replies = await Promise.all(Array.from({ length: 20 }, (_, index) => ask(`full-${count}-${index}`)))
        refusals.push(...replies.filter(({ status }) => status !== 200))
      }
      for (const { status, body } of refusals)
        expect({ status, code: body.code }).toEqual({ status: 503, code: 'store-unavailable' })
      expect((await fetch(`${server.url}/readyz`)).status).toBe(503)

      unlinkSync(filler)
      await until('it takes requests again', async () => (await ask('after')).status === 200)
      await server.kill()
      const again = await serve(join(directory, 'store'))
      const held = await heldOn(again.url)
      expect(acknowledged.filter((resource) => !held.has(resource))).toEqual([])
      expect(held.size).toBe(new Set(acknowledged).size)
      await again.kill()
    } finally {
      execFileSync('umount', [directory])
    }
  }, 120_000)
})

async function heldOn(url: string): Promise<Set<string>> {
  const held = new Set<string>()
  let after = ''
  for (;;) {
    const reply = await fetch(
      `${url}/v1/resources?limit=1000&active=true${after && `&after=${encodeURIComponent(after)}`}`,
    )
    const page = (await reply.json()) as { resources: { resource: string }[]; next?: string }
    for (const { resource } of page.resources) held.add(resource)
    if (page.next === undefined) return held
    after = page.next
  }
}
