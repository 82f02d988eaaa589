import { type Baton, connect, type Lock } from '@baton-lock/client'
import { expect } from 'vitest'
import { until } from './cli-process.ts'

/** Clients that hold, wait in line and work while servers are restarted, and what they have met. */
export interface Load {
  /** So many turns have been taken by those who work. */
  turns(): number
  /** Ends it, and says how everybody fared. */
  finish(): Promise<Fared>
}

interface Fared {
  /** What they have noticed, of whatever kind; the loss of a grant, and calls that have failed. */
  readonly trouble: readonly string[]
  /** In which order those in line had their turn, by the order in which they had asked. */
  readonly order: readonly number[]
}

const CLIENTS = 6

/**
 * Each client has a session of its own, and begins with another one of the servers. One resource is held throughout, behind the
 * holder of another one everybody waits, and a third is worked on by all of them in turn.
 */
export async function startLoad(urls: readonly string[]): Promise<Load> {
  const trouble: string[] = []
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, index) =>
      connect([...urls.slice(index % urls.length), ...urls.slice(0, index % urls.length)], {
        node: `node-${index}`,
        onNotice: (notice) => trouble.push(`notice of node-${index}: ${notice}`),
      }),
    ),
  )
  const [first] = clients as [Baton, ...Baton[]]
  const held = await first.lock('held')
  const ahead = await first.lock('line')
  const order: number[] = []
  const fences: number[] = [ahead.fence]
  const inLine = await queueUp(clients, async (grant, index) => {
    order.push(index)
    fences.push(grant.fence)
    await grant.release()
  })
  const work = worked(clients, trouble)
  return {
    turns: work.turns,
    async finish() {
      await work.stop()
      for (const grant of [held, ahead]) {
        if (grant.signal.aborted) trouble.push(`a grant was lost: ${grant.signal.reason}`)
        await grant.release()
      }
      const served = await Promise.allSettled(inLine)
      trouble.push(...served.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : [])))
      expect([...fences].sort((a, b) => a - b)).toEqual(fences)
      for (const client of clients) await client.close()
      return { trouble, order }
    },
  }
}

/** One after another, so that it is known who came first. */
async function queueUp(
  clients: readonly Baton[],
  onTurn: (grant: Lock, index: number) => Promise<void>,
): Promise<Promise<void>[]> {
  const waiting: Promise<void>[] = []
  for (const [index, client] of clients.entries()) {
    let isQueued = false
    const turn = client.lock('line', { onQueued: () => (isQueued = true) }).then((grant) => onTurn(grant, index))
    turn.catch(() => {})
    waiting.push(turn)
    await until(`node-${index} stands in line`, () => isQueued)
  }
  return waiting
}

/** All of them want the same, again and again; whoever has it is alone, and its fence is higher than all before it. */
function worked(clients: readonly Baton[], trouble: string[]) {
  let isOver = false
  let turns = 0
  let inside = 0
  let lastFence = 0
  const loops = clients.map(async (client, index) => {
    while (!isOver) {
      try {
        const grant = await client.lock('busy')
        if (++inside > 1) trouble.push(`node-${index} was granted what somebody else has`)
        if (grant.fence <= lastFence) trouble.push(`fence ${grant.fence} after ${lastFence}`)
        lastFence = grant.fence
        await new Promise((resolve) => setImmediate(resolve))
        inside--
        await grant.release()
        turns++
      } catch (error) {
        trouble.push(`work of node-${index}: ${error}`)
      }
    }
  })
  return {
    turns: () => turns,
    async stop() {
      isOver = true
      await Promise.all(loops)
    },
  }
}
