import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { fileStores, post } from './file-server.ts'
import { syncOrder } from './sync-order.ts'

const { newDirectory } = fileStores()

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

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
    const events = await fetch(`${url}/v1/events`, { signal: listening.signal })
    const told = namesTold(events.body!, 96)
    await Promise.all(
      Array.from({ length: 8 }, async (_, client) => {
        for (let count = 0; count < 12; count++) {
          const resource = `mark-${client}-${count}`
          const reply = await post(url, '/v1/acquire', { operation: 'lock', resource, node: 'n' })
          expect(reply.status).toBe(200)
        }
      }),
    )
    // Only then everything has been written that is to be judged.
    await told
    listening.abort()
  } finally {
    await stop(tracer)
  }
  return syncOrder(readFileSync(trace, 'utf8'))
}

/** Resolves when so many resources were named to a listener. */
async function namesTold(body: ReadableStream<Uint8Array>, count: number): Promise<void> {
  const names = new Set<string>()
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    for (const [name] of text.matchAll(/mark-\d+-\d+(?=")/g)) names.add(name)
    if (names.size === count) return
  }
}

/** strace and what it has started: a group of its own. */
async function stop(tracer: ChildProcess): Promise<void> {
  const ended = once(tracer, 'exit')
  process.kill(-tracer.pid!, 'SIGKILL')
  await ended
}
