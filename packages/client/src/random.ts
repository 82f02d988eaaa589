import { randomBytes, randomUUID } from 'node:crypto'

/** Randomness. It is injected, so that a simulated run can be repeated. */
export interface ClientRandom {
  /** Hard to guess: whoever knows the id of a session can use it. */
  id(): string
  /** Unique, but no secret, and so shorter. */
  name(): string
  /** From 0 to less than 1. */
  fraction(): number
}

export const systemRandom: ClientRandom = {
  id: () => randomUUID(),
  name: () => randomBytes(12).toString('base64url'),
  fraction: () => Math.random(),
}

/** Names that no other client uses: a random part and a counter. */
export function namesOf(random: ClientRandom): () => string {
  const client = random.name()
  let count = 0
  return () => `${client}.${(++count).toString(36)}`
}
