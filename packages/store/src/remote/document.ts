import { type EndedAsk, type KeptAnswer, newResource, type Resource } from '@baton-lock/core'
import { restore, type WrittenResource, writtenOf } from '../codec.ts'
import type { Address } from '../store.ts'
import type { OpenedResource } from './backend.ts'
import { MemoriesInParts } from './memories-in-parts.ts'
import type { Parts } from './parts.ts'
import { WaitersInParts, type WaiterTotals } from './waiters-in-parts.ts'

/** A resource whose waiters and memories are read in parts. */
export interface ResourceInParts extends Resource {
  readonly waiters: WaitersInParts
  readonly answers: MemoriesInParts<KeptAnswer>
  readonly released: MemoriesInParts<EndedAsk>
}

/** What is written of a resource itself. */
interface Written extends WrittenResource {
  readonly rememberedUntilMs?: number
  readonly waiting?: WaiterTotals
}

/** A resource as it was read, parsed once: every step begins with a fresh copy of it. */
export class Document {
  /** When its last step was decided: time never runs backwards for a resource. */
  readonly atMs: number
  /** It was there before. */
  readonly isThere: boolean
  readonly #written: Written
  readonly #body: string

  constructor({ text, fence }: Pick<OpenedResource, 'text' | 'fence'>) {
    this.isThere = text !== undefined
    this.#body = text === undefined ? '' : bodyIn(text)
    const read: { readonly atMs: number; readonly resource: Written } =
      text === undefined ? { atMs: 0, resource: { fence } } : JSON.parse(text)
    this.atMs = read.atMs
    this.#written = read.resource
  }

  resource({ namespace, resource: id }: Address, parts: Parts): ResourceInParts {
    const { waiting = { counts: {} }, rememberedUntilMs = 0 } = this.#written
    const resource = newResource(namespace, id, {
      waiters: new WaitersInParts(waiting, parts),
      answers: new MemoriesInParts(rememberedUntilMs, parts.answers),
      released: new MemoriesInParts(rememberedUntilMs, parts.released),
    }) as ResourceInParts
    restore(resource, this.#written)
    return resource
  }

  /** The text of what has become of it; nothing where it is as it was. */
  textOf(resource: ResourceInParts, atMs: number): string | undefined {
    const { waiters } = resource
    const written: Written = {
      ...writtenOf(resource),
      rememberedUntilMs: rememberedUntilMs(resource),
      ...(waiters.size > 0 && { waiting: waiters.totals }),
    }
    const body = JSON.stringify(written)
    return body === this.#body ? undefined : `{"atMs":${atMs},${BODY}${body}}`
  }
}

/** A text is a head and a body, which are compared and written as they are. */
const BODY = '"resource":'

function bodyIn(text: string): string {
  return text.slice(text.indexOf(BODY) + BODY.length, -1)
}

/**
 * When somebody has to look at it: when something happens to those who hold or wait; otherwise when all that it
 * remembers can be forgotten. What is over before that is treated as forgotten by every step that meets it.
 */
export function dueOf(resource: ResourceInParts, nextActMs: number | undefined): number | undefined {
  if (nextActMs !== undefined) return nextActMs
  if (resource.grants.size + resource.waiters.size + resource.references.size > 0) return undefined
  let lastMs = Math.max(rememberedUntilMs(resource), resource.changes?.keptUntilMs ?? 0)
  for (const map of [resource.kept, resource.recent, resource.contradicted])
    for (const { untilMs } of map.values()) lastMs = Math.max(lastMs, untilMs)
  return lastMs
}

function rememberedUntilMs({ answers, released }: ResourceInParts): number {
  return Math.max(answers.untilMs, released.untilMs)
}
