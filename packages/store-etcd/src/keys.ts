import { createHash } from 'node:crypto'
import type { AskName } from '@baton-lock/core'
import { hashOf } from '@baton-lock/store/address'
import type { MemoryKind } from '@baton-lock/store/remote'
import type { Address, Place } from '@baton-lock/store/store'
import type { Keys as Range } from './etcd.ts'

/** So that a resource that is made anew hardly ever meets another one that was forgotten just then. */
const GONE_MARKS = 32_768
/** More digits than a time or a ticket has: so they sort as numbers do. */
const DIGITS = 16

/** Those that a resource has of its own: whoever changes one of them changes the resource too. */
const OWN = new Set(['resource', 'waiter', 'owner', 'deadline', 'memory', 'answer'])

/** What every key of a store is called. The parts of a key are escaped, so that `/` always stands between two of them. */
export class Keys {
  readonly prefix: string

  constructor(prefix: string) {
    this.prefix = prefix
  }

  /** What all processes know of the store: its id, the version of its policy, the floor of its fences. */
  get meta(): string {
    return `${this.prefix}meta`
  }

  get policy(): string {
    return `${this.prefix}policy`
  }

  /** Changed where a session leaves a process for another one. */
  get allLeft(): Range {
    return under(`${this.prefix}left/`)
  }

  left(process: string): string {
    return `${this.allLeft.key}${process}`
  }

  /** Who has compacted last, up to where. */
  get compaction(): string {
    return `${this.prefix}compaction`
  }

  get resources(): Range {
    return under(`${this.prefix}resource/`)
  }

  resource(address: Address): string {
    return `${this.resources.key}${pathOf(address)}`
  }

  /** All that every process follows: small, and changed with whatever it tells of. */
  get index(): Range {
    return under(`${this.prefix}index/`)
  }

  /** Changed by every commit: whoever has heard of its revision has heard of all before. */
  get tick(): string {
    return `${this.prefix}index/tick`
  }

  get heads(): Range {
    return under(`${this.prefix}index/head/`)
  }

  head(address: Address): string {
    return `${this.heads.key}${pathOf(address)}`
  }

  get sessions(): Range {
    return under(`${this.prefix}index/session/`)
  }

  session(session: string): string {
    return `${this.sessions.key}${escaped(session)}`
  }

  /** Those whose lease lives: etcd deletes the key with it. */
  get alive(): Range {
    return under(`${this.prefix}index/alive/`)
  }

  aliveOne(session: string): string {
    return `${this.alive.key}${escaped(session)}`
  }

  waiters(address: Address): Range {
    return under(`${this.prefix}waiter/${pathOf(address)}/`)
  }

  queue(address: Address, operation: string): Range {
    return under(`${this.waiters(address).key}${escaped(operation)}/`)
  }

  waiter(address: Address, operation: string, ticket: number): string {
    return `${this.queue(address, operation).key}${sortable(ticket)}`
  }

  owners(address: Address): Range {
    return under(`${this.prefix}owner/${pathOf(address)}/`)
  }

  /** The tickets of each owner in a queue. */
  ownersOf(address: Address, operation: string): Range {
    return under(`${this.owners(address).key}${escaped(operation)}/`)
  }

  ticketsOf(address: Address, operation: string, owner: string): Range {
    return under(`${this.ownersOf(address, operation).key}${escaped(owner)}/`)
  }

  owner(address: Address, operation: string, owner: string, ticket: number): string {
    return `${this.ticketsOf(address, operation, owner).key}${sortable(ticket)}`
  }

  /** Those who wait with a deadline, by it. */
  deadlines(address: Address): Range {
    return under(`${this.prefix}deadline/${pathOf(address)}/`)
  }

  deadline(address: Address, operation: string, ticket: number, atMs: number): string {
    return `${this.deadlines(address).key}${sortable(atMs)}/${escaped(operation)}/${sortable(ticket)}`
  }

  /** What comes after all deadlines up to this one. */
  deadlinesAfter(address: Address, atMs: number): string {
    return `${this.deadlines(address).key}${sortable(atMs + 1)}`
  }

  get allMemories(): Range {
    return under(`${this.prefix}memory/`)
  }

  memories(address: Address): Range {
    return under(`${this.allMemories.key}${pathOf(address)}/`)
  }

  memoriesOf(address: Address, { operation, owner, hold }: AskName): Range {
    return under(`${this.memories(address).key}${escaped(operation)}/${escaped(owner)}/${escaped(hold)}/`)
  }

  memory(address: Address, ask: AskName, kind: MemoryKind, node: string | undefined): string {
    return `${this.memoriesOf(address, ask).key}${kind}/${node === undefined ? '' : escaped(node)}`
  }

  /** Answers that many memories of a resource have in common. */
  answers(address: Address): Range {
    return under(`${this.allAnswers.key}${pathOf(address)}/`)
  }

  get allAnswers(): Range {
    return under(`${this.prefix}answer/`)
  }

  answer(address: Address, text: string): string {
    return `${this.answers(address).key}${createHash('sha256').update(text).digest('base64url')}`
  }

  /** Whether keys like this one are all that there is to them. */
  isWithoutValues(key: string): boolean {
    return ['owner', 'deadline'].some((kind) => key.startsWith(`${this.prefix}${kind}/`))
  }

  /** What there is of one ask only, who has asked it and what is remembered of it; also of a range of such keys. */
  isOfOneAsk(key: string): boolean {
    return ['owner', 'memory'].some((kind) => key.startsWith(`${this.prefix}${kind}/`))
  }

  places(session: string): Range {
    return under(`${this.prefix}place/${escaped(session)}/`)
  }

  place(session: string, { operation, owner, node, ...address }: Place): string {
    const last = node === undefined ? '' : escaped(node)
    return `${this.places(session).key}${pathOf(address)}/${escaped(operation)}/${escaped(owner)}/${last}`
  }

  get allMail(): Range {
    return under(`${this.prefix}mail/`)
  }

  mail(process: string): Range {
    return under(`${this.allMail.key}${process}/`)
  }

  letter(process: string, name: string): string {
    return `${this.mail(process).key}${name}`
  }

  /** Put with whatever is sent to a process. etcd counts how often. */
  bell(process: string): string {
    return this.letter(process, 'bell')
  }

  /** Those who are there, each under a lease of its own. */
  get processes(): Range {
    return under(`${this.prefix}process/`)
  }

  /** Those of them that hear of everything. */
  get hearers(): Range {
    return under(`${this.prefix}hearer/`)
  }

  /** Changed where one of these resources is forgotten. */
  gone(address: Address): string {
    return `${this.prefix}gone/${hashOf(pathOf(address)) % GONE_MARKS}`
  }

  /** Commits that are too large for one request, under way. */
  get journals(): Range {
    return under(`${this.prefix}journal/`)
  }

  journal(id: string): Range {
    return under(`${this.journals.key}${id}/`)
  }

  /** Values that are too large for one request, in parts. */
  get allParts(): Range {
    return under(`${this.prefix}part/`)
  }

  parts(id: string): Range {
    return under(`${this.allParts.key}${id}/`)
  }

  history(id: string): string {
    return `${this.prefix}history/${id}`
  }
}

/** All keys that begin with this, which ends with `/`. */
export function under(key: string): Range {
  return { key, end: `${key.slice(0, -1)}0` }
}

/** The escaped parts of a key after a prefix of it. */
export function partsIn(key: string, { key: prefix }: Range): string[] {
  return key
    .slice(prefix.length)
    .split('/')
    .map((part) => (part.includes('%') ? decodeURIComponent(part) : part))
}

export function addressIn(key: string, range: Range): Address {
  const [namespace, resource] = partsIn(key, range)
  return { namespace: namespace!, resource: resource! }
}

/** The path of the resource that a key, or a range that begins like this, belongs to. */
export function pathIn(key: string, { prefix }: Keys): string | undefined {
  const kindEnd = key.indexOf('/', prefix.length)
  const namespaceEnd = kindEnd < 0 ? -1 : key.indexOf('/', kindEnd + 1)
  if (namespaceEnd < 0 || !OWN.has(key.slice(prefix.length, kindEnd))) return undefined
  const end = key.indexOf('/', namespaceEnd + 1)
  return key.slice(kindEnd + 1, end < 0 ? key.length : end)
}

export function pathOf({ namespace, resource }: Address): string {
  return `${escaped(namespace)}/${escaped(resource)}`
}

export function escaped(text: string): string {
  return UNSAFE.test(text) ? text.replace(UNSAFES, (each) => `%${hex(each)}`) : text
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: an id may have any.
const UNSAFE = /[%/\u0000-\u001f]/
const UNSAFES = new RegExp(UNSAFE, 'g')

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()
}

/** Before a minus sign there are no numbers here: tickets and times are not negative. */
function sortable(number: number): string {
  return String(Math.max(0, Math.floor(number))).padStart(DIGITS, '0')
}
