import { Client } from '@baton-lock/client/client'
import { systemClientClock } from '@baton-lock/client/clock'
import type { InputOf, OnReply } from '@baton-lock/client/connection/transport'
import { webSocketDial } from '@baton-lock/client/connection/web-socket'
import { WebSocketTransport } from '@baton-lock/client/connection/web-socket-transport'
import { systemRandom } from '@baton-lock/client/random'
import type { RequestType } from '@baton-lock/protocol'
import { expect, test } from 'vitest'
import { startServer, type TestServer, until } from './cli-process.ts'

/*
 * A server is stopped while it has a request of a client. The client asks another server, and goes on to something newer;
 * then the first server goes on too, and carries out its copy of the request.
 */

interface Scene {
  readonly baton: Client
  /** A client of the second server. */
  readonly other: Client
  /** The first server is stopped just before the client sends a request of these types that changes something. */
  stopBefore(...types: RequestType[]): Promise<void>
  /** It goes on. Resolves when it has carried out its copy. */
  goOn(): Promise<void>
}

/** Tests with two servers on a store of their own each. */
export function lateCopies(urlOfStore: () => string | Promise<string>): void {
  const scene = (claim: string, play: (scene: Scene) => Promise<void>) =>
    test(claim, async () => {
      const store = ['--store', await urlOfStore()]
      const servers = [await startServer(store), await startServer(store)]
      const transport = new StoppingTransport(servers)
      const baton = clientOf('a', transport)
      const other = clientOf('b', transportTo([servers[1]!]))
      try {
        // Its first request would not be the one that the server is stopped with.
        await baton.references.add('r')
        await baton.references.release('r')
        await play({
          baton,
          other,
          stopBefore: (...types) => transport.stopBefore(types),
          goOn: () => transport.goOn(),
        })
      } finally {
        servers[0]!.process.kill('SIGCONT')
        await baton.close()
        await other.close()
        for (const server of servers) await server.stop()
      }
    }, 60_000)

  scene('a late release of a reference does not undo a later one', async ({ baton, other, stopBefore, goOn }) => {
    await baton.references.add('r')
    await stopBefore('release-reference')
    await baton.references.release('r')
    await baton.references.add('r')
    await goOn()
    expect(await baton.references.list('r')).toEqual(['a'])
    await expect(other.acquire('delete', 'r')).rejects.toMatchObject({ code: 'in-use' })
  })

  scene('a late release of a reference does not undo that of a later pull', async ({ baton, stopBefore, goOn }) => {
    await (await baton.acquire('pull', 'r')).succeed()
    await stopBefore('release-reference')
    await baton.references.release('r')
    await (await baton.acquire('pull', 'r')).succeed()
    await goOn()
    expect(await baton.references.list('r')).toEqual(['a'])
  })

  scene('a late addition of a reference does not bring it back', async ({ baton, stopBefore, goOn }) => {
    await stopBefore('add-reference')
    await baton.references.add('r')
    await baton.references.release('r')
    await goOn()
    expect(await baton.references.list('r')).toEqual([])
  })

  scene('a late drop of a node leaves what it uses since', async ({ baton, other, stopBefore, goOn }) => {
    await baton.references.add('r')
    await stopBefore('release-reference', 'drop-node')
    expect(await baton.references.dropNode('a')).toBe(1)
    await other.references.add('r', { node: 'a' })
    await goOn()
    expect(await other.references.list('r')).toEqual(['a'])
  })

  scene('a late forget leaves a newer success', async ({ baton, stopBefore, goOn }) => {
    let runs = 0
    const once = () => baton.once('r', () => ++runs, { keepMs: 600_000 })
    await once()
    await stopBefore('forget')
    expect(await baton.forget('r')).toBe(true)
    await once()
    await goOn()
    await once()
    expect(runs).toBe(2)
  })

  scene('a late revocation leaves the next holder alone', async ({ baton, other, stopBefore, goOn }) => {
    const first = await other.lock('r')
    const next = other.lock('r')
    await until('the next one waits', async () => (await other.status('r')).waiting === 1)
    await stopBefore('revoke')
    expect(await baton.revoke('lock', 'r')).toEqual({ node: 'b', fence: first.fence })
    const held = await next
    await goOn()
    expect((await other.status('r')).grants[0]).toMatchObject({ fence: held.fence })
    expect(held.signal.aborted).toBe(false)
    await held.release()
    await first.release().catch(() => {})
  })
}

function transportTo(servers: readonly TestServer[]): WebSocketTransport {
  const bases = servers.map(({ url }) => new URL(url))
  return new WebSocketTransport({ bases, clock: systemClientClock(), notice, dial: webSocketDial({}) }, 0)
}

function clientOf(node: string, transport: WebSocketTransport): Client {
  return new Client(transport, { clock: systemClientClock(), notice, random: systemRandom }, { node })
}

function notice(): void {}

class StoppingTransport extends WebSocketTransport {
  readonly #first: TestServer
  #types: readonly RequestType[] = []
  /** How many requests of these types the first server will have answered when it has carried out its copy. */
  #expected = 0

  constructor(servers: readonly TestServer[]) {
    const bases = servers.map(({ url }) => new URL(url))
    super({ bases, clock: systemClientClock(), notice, dial: webSocketDial({}) }, 0)
    this.#first = servers[0]!
  }

  async stopBefore(types: readonly RequestType[]): Promise<void> {
    this.#expected = await this.#answered(types)
    this.#types = types
  }

  async goOn(): Promise<void> {
    const types = this.#types
    expect(this.isStopped).toBe(true)
    this.#first.process.kill('SIGCONT')
    await until(
      'the first server has carried out its copy',
      async () => (await this.#answered(types)) >= this.#expected,
    )
  }

  isStopped = false

  override send<Type extends RequestType>(request: InputOf<Type>, timeoutMs: number, onReply: OnReply<Type>): void {
    if (!this.isStopped && this.#types.includes(request.type)) {
      this.#expected++
      // One that asks for the present number changes nothing.
      this.isStopped = !('seen' in request && request.seen === 0)
      if (this.isStopped) this.#first.process.kill('SIGSTOP')
    }
    super.send(request, timeoutMs, onReply)
  }

  async #answered(types: readonly RequestType[]): Promise<number> {
    const text = await (await fetch(`${this.#first.url}/metrics`)).text()
    const counts = types.map(
      (type) => new RegExp(`^baton_requests_total\\{type="${type}"\\} (\\d+)`, 'm').exec(text)?.[1],
    )
    return counts.reduce((sum, count) => sum + Number(count ?? 0), 0)
  }
}
