import type { AddressedEvent } from '@baton-lock/core'
import type { Address } from '../store.ts'

/** What one process tells others. It travels as text, which backends only carry. */
type Letter = StepsLetter | MovedLetter

/** What one transaction has done to one resource. */
export interface StepsLetter extends Address {
  /** How long after it something is due: whoever reads it counts from then on. */
  readonly dueInMs: number | undefined
  readonly events: readonly AddressedEvent[]
  /** It has come from another process. */
  readonly elsewhere?: boolean
}

/** A session is at another process from now on. */
interface MovedLetter {
  readonly moved: string
}

export function letterText(letter: Letter): string {
  return JSON.stringify(letter)
}

export function letterFrom(text: string): Letter {
  return JSON.parse(text)
}

/** The sessions that these events are for. */
export function sessionsIn(events: readonly AddressedEvent[]): string[] {
  return [...new Set(events.flatMap(({ to }) => to).flatMap(({ sessions }) => sessions))]
}
