// needs: strace
import { readFileSync } from 'node:fs'
import { PROGRAMS } from '@baton-lock/faults/programs'
import { urlOf } from '@baton-lock/test-support/baton-server'
import { expect, test } from 'vitest'
import { startProgram } from './cli-process.ts'
import { fileStores, post } from './file-server.ts'
import { syncOrder } from './sync-order.ts'

const { newDirectory } = fileStores()

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
  const args = ['-f', '-qq', '-s', '100000', '-e', watched, '-o', trace, process.execPath, PROGRAMS.recordedServer]
  // strace and what it starts are a group.
  const options = { env, isGroup: true }
  const tracer = startProgram('strace', [...args, 'serve', '--port', '0', '--store', `file:${directory}`], options)
  try {
    const url = await urlOf(tracer)
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
    await tracer.end()
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
