import { concernsOf, type Event } from '../../core/index.ts'
import type { Address } from '../store.ts'

/** What one process tells others. It travels as text, which backends only carry. */
type Letter = StepsLetter | MovedLetter

/** What one transaction has done to one resource. */
export interface StepsLetter extends Address {
  readonly atMs: number
  /** How long after `atMs` something is due: whoever reads it counts from then on. */
  readonly dueInMs: number | undefined
  readonly events: readonly Event[]
  /** It has come from another process. */
  readonly elsewhere?: true
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

/** The sessions that events concern. */
export function sessionsIn(events: readonly Event[]): string[] {
  return [...new Set(events.flatMap(concernsOf).flatMap(({ sessions }) => sessions))]
}
