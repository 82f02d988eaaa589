import { randomUUID } from 'node:crypto'

/** Chance, injected, so that a simulated run can be repeated. */
export interface ClientRandom {
  /** Hard to guess: who knows a session's id is that session. */
  id(): string
  /** From 0 up to, not including, 1. */
  fraction(): number
}

export const systemRandom: ClientRandom = { id: () => randomUUID(), fraction: () => Math.random() }
