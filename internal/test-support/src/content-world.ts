import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pause, systemClientClock } from '@baton-lock/client/clock'
import { ContentStore } from '@baton-lock/containerd/blobs/content-store'
import { Storage } from '@baton-lock/containerd/blobs/storage'
import type { Writer } from '@baton-lock/containerd/ingests/writer'
import { type ContentSettings, contentConfigOf } from '@baton-lock/containerd/node/config'
import { blobPath, blobsIn } from '@baton-lock/containerd/node/folders'
import { onTestFinished } from 'vitest'
import { clientClockOf } from './client-clock.ts'
import { newClientWorld, type TestClient } from './client-world.ts'

const STEP_MS = 20

export interface ContentNode extends TestClient {
  readonly name: string
  readonly store: ContentStore
  readonly log: string[]
  /** The digests in its own folder. */
  blobs(): string[]
  /** Its files in a folder of Baton's own: `uses`, `unconfirmed`, `pending`, … */
  files(folder: string): string[]
  /** As a process that is killed leaves it: nothing is told, files stay. Resolves with the next process of the node. */
  crash(settings?: Partial<ContentSettings>): Promise<ContentNode>
}

/**
 * Content stores of several nodes over real folders, with real clients on a real service in simulated time. What mergerfs
 * does is done by looking into every folder.
 */
export function newContentWorld() {
  const { clock, service, client } = newClientWorld()
  const folder = mkdtempSync(join(tmpdir(), 'baton-content-unit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const names = ['a', 'b', 'c']
  const nodes = Object.fromEntries(names.map((name) => [name, { root: join(folder, name) }]))
  const contentClock = clientClockOf(clock)
  /** Files answer in real time. */
  const storage = new Storage({ ...contentClock, after: () => () => {} }, 'the union')

  /** Lets time pass until it is done. */
  const passing = async <Value>(work: Promise<Value>, { withinMs = 120_000 } = {}): Promise<Value> => {
    let isOver = false
    const over = work.finally(() => {
      isOver = true
    })
    over.catch(() => {})
    for (let passedMs = 0; !isOver && passedMs < withinMs; passedMs += STEP_MS) {
      await clock.advance(STEP_MS)
      // Files take their own time: on a busy machine many milliseconds, and as many steps.
      await pause(systemClientClock(), 1)
    }
    if (!isOver) throw new Error(`it is not done within ${withinMs} ms`)
    return over
  }

  const start = async (name: string, settings: Partial<ContentSettings> = {}): Promise<ContentNode> => {
    const config = contentConfigOf({ current_node: name, servers: ['http://lock:1'], nodes, ...settings }, 'the test')
    const { own } = config
    const connected = client({ node: name, namespace: 'content', ttlMs: 10_000 })
    const log: string[] = []
    const store = await ContentStore.open({
      config,
      baton: connected.baton,
      clock: contentClock,
      log: (sentence) => log.push(sentence),
      mount: { open: async () => {}, close: async () => {} },
      trees: names.filter((each) => each !== name).map((each) => join(folder, each, 'host')),
      storage,
    })
    let isOpen = true
    const close = async () => {
      if (isOpen) await passing(store.close())
      isOpen = false
    }
    onTestFinished(close)
    return {
      ...connected,
      name,
      store,
      log,
      blobs: () => readdirSync(blobsIn(own.host)).map((hex) => `sha256:${hex}`),
      files: (kind) => readdirSync(join(own.host, '.baton', kind)),
      async crash(again = settings) {
        connected.wire.goDown()
        await close()
        return start(name, again)
      },
    }
  }

  return {
    clock,
    service,
    start,
    passing,
    /** Whether anybody's folder has it. */
    isAnywhere: (digest: string) => names.some((name) => existsSync(blobPath(join(folder, name, 'host'), digest))),
  }
}

interface TestBlob {
  readonly digest: string
  readonly bytes: Buffer
  readonly ref: string
}

export function blobOf(text: string): TestBlob {
  const bytes = Buffer.from(text)
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  return { digest, bytes, ref: `default/1/layer-${digest}` }
}

/** As containerd opens a writer: by the ref and the size alone. */
export function opened({ store }: ContentNode, { ref, bytes }: TestBlob): Promise<Writer> {
  return store.openWriter({ ref, total: bytes.length })
}

/** Fetches a blob, or finds it; how it came, says its stage. */
export async function pulled(node: ContentNode, blob: TestBlob): Promise<'fetched' | 'found'> {
  const writer = await opened(node, blob)
  await writer.ready()
  const isFound = writer.stage === 'found'
  if (!isFound) await writer.write(writer.offset, blob.bytes.subarray(writer.offset))
  await writer.commit({ total: blob.bytes.length, expected: blob.digest })
  return isFound ? 'found' : 'fetched'
}
