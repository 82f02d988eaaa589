import { randomBytes, randomUUID } from 'node:crypto'

/** Chance, injected, so that a simulated run can be repeated. */
export interface ClientRandom {
  /** Hard to guess: who knows a session's id is that session. */
  id(): string
  /** Nobody else's, but no secret: shorter. */
  name(): string
  /** From 0 up to, not including, 1. */
  fraction(): number
}

export const systemRandom: ClientRandom = {
  id: () => randomUUID(),
  name: () => randomBytes(12).toString('base64url'),
  fraction: () => Math.random(),
}

/** Names that no other client has: by chance the first part, by counting the rest. */
export function namesOf(random: ClientRandom): () => string {
  const client = random.name()
  let count = 0
  return () => `${client}.${(++count).toString(36)}`
}
