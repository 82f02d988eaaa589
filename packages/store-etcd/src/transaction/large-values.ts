import type { Timing } from '@baton-lock/store/timing'
import { type Etcd, EtcdError, type Operation } from '../etcd.ts'
import type { Keys } from '../keys.ts'
import { leaseId } from '../sessions/lease-id.ts'
import { foundIn } from './found.ts'

/** A value that is larger is kept in parts: etcd takes 1.5 MiB a request. In UTF-16 units, of which each may take three bytes. */
const LARGE = 256 * 1024
/** No text of ours begins like this: all of them are JSON. */
const MARK = '@'
/** Stands before what is written for a commit that is still to come. */
export const MARK_KEY = 'mark'
/** What is sent is read at once, or not at all. */
const SENT_S = 60

/** Texts that may be too large for one value. */
export class LargeValues {
  readonly #etcd: Etcd
  readonly #keys: Keys
  readonly #timing: Timing

  constructor(etcd: Etcd, keys: Keys, timing: Timing) {
    this.#etcd = etcd
    this.#keys = keys
    this.#timing = timing
  }

  /** The value that stands for a text; its parts, if it has any, are written before that. `room`: what may be put into one value. */
  async write(text: string, room = LARGE): Promise<string> {
    return text.length <= room ? text : this.#writeParts(text)
  }

  /**
   * The values that stand for letters of one transaction, in their order. Where they are too large for it, they are in parts, which are there
   * for a while, for all who read them.
   */
  async writeLetters(letters: readonly Sent[]): Promise<readonly string[]> {
    const sizeOf = ({ to, text }: Sent) => to.length * text.length
    const isLarge = letters.reduce((sum, letter) => sum + sizeOf(letter), 0) > LARGE
    if (!isLarge) return letters.map(({ text }) => text)
    const lease = leaseId()
    await this.#etcd.grantLease(lease, SENT_S)
    const room = LARGE / letters.length
    return Promise.all(letters.map((each) => (sizeOf(each) <= room ? each.text : this.#writeParts(each.text, lease))))
  }

  async #writeParts(text: string, lease?: number): Promise<string> {
    const { key } = this.#keys.parts(this.#timing.uniqueName())
    if (lease === undefined)
      await this.#etcd.txn({ compare: [], success: [{ put: { key: `${key}${MARK_KEY}`, value: '' } }] })
    let count = 0
    for (let from = 0; from < text.length; count++) {
      const end = endOfPart(text, from + LARGE)
      const value = text.slice(from, end)
      from = end
      const part = count
      const put = { key: `${key}${part}`, value, ...(lease !== undefined && { lease }) }
      await this.#etcd.txn({ compare: [], success: [{ put }] })
    }
    return `${MARK}${key}${count}`
  }

  isInParts(value: string): boolean {
    return partsOf(value) !== undefined
  }

  /** The text that a value stands for: at once, but for one in parts. */
  read(value: string): string | Promise<string> {
    const parts = partsOf(value)
    return parts ? this.#join(parts) : value
  }

  /** What tells the parts of a value from those that were left behind: written before them, and again by the commit with which they count. */
  marksOf(value: string): string[] {
    const parts = partsOf(value)
    return parts ? [`${parts.prefix}${MARK_KEY}`] : []
  }

  /** What has to be deleted with a value. */
  deletions(value: string | undefined): Operation[] {
    const parts = value === undefined ? undefined : partsOf(value)
    return parts ? [{ delete: { key: parts.prefix, end: `${parts.prefix.slice(0, -1)}0` } }] : []
  }

  async #join({ prefix, count }: ValueParts): Promise<string> {
    let text = ''
    for (let part = 0; part < count; part++) {
      const { outcomes } = await this.#etcd.txn({ compare: [], success: [{ range: { key: `${prefix}${part}` } }] })
      const [kv] = foundIn(outcomes[0]).kvs
      if (!kv) throw new EtcdError('unreachable', 'a part of a large value has gone while it was read')
      text += kv.value
    }
    return text
  }
}

/** Not in the middle of a character. */
function endOfPart(text: string, end: number): number {
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff && end < text.length ? end - 1 : end
}

interface Sent {
  readonly to: readonly string[]
  readonly text: string
}

interface ValueParts {
  readonly prefix: string
  readonly count: number
}

/** What the keys of the parts of a value begin with; nothing where it has none. */
export function partsPrefixOf(value: string): string | undefined {
  return partsOf(value)?.prefix
}

function partsOf(value: string): ValueParts | undefined {
  if (!value.startsWith(MARK)) return undefined
  const end = value.lastIndexOf('/') + 1
  return { prefix: value.slice(MARK.length, end), count: Number(value.slice(end)) }
}
