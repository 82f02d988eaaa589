import { randomBytes, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { ownerPrefix } from '@baton-lock/protocol'

/** Randomness. It is injected, so that a simulated run can be repeated. */
export interface ClientRandom {
  /** Hard to guess: whoever knows the id of a session can use it. */
  id(): string
  /** Unique, but no secret: it says which process it is of, so that people can tell two with one node id apart. */
  name(): string
  /** From 0 to less than 1. */
  fraction(): number
}

export const systemRandom: ClientRandom = {
  id: () => randomUUID(),
  name: () => ownerPrefix(process.pid, hostname()) + randomBytes(12).toString('base64url'),
  fraction: () => Math.random(),
}

/** Names that no other client uses: a random part and a counter. */
export function namesOf(random: ClientRandom): () => string {
  const client = random.name()
  let count = 0
  return () => `${client}.${(++count).toString(36)}`
}
