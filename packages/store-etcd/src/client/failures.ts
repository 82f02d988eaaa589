import { type ServiceError, status } from '@grpc/grpc-js'
import { EtcdError, type EtcdErrorKind, type LeaseTrouble } from '../etcd.ts'

/** The answer to a call: a status that is not OK. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: status

  constructor(code: status, details: string) {
    super(details)
    this.code = code
  }
}

/** What was sent has no answer in time. */
export class Late extends Error {
  override readonly name = 'Late'

  constructor() {
    super('no answer in time')
  }
}

/** What was asked, as far as an error is about it. */
interface Asked {
  readonly endpoint: string
  /** Whether it could change anything: then nobody knows what became of it when its answer is lost. */
  readonly isWrite: boolean
  /** Whether newer versions of etcd let only the role root do it. */
  readonly isAdmin: boolean
  readonly user?: string | undefined
  readonly prefix: string
}

/** What an answer means. `lost`: there is none that could be relied upon. */
type Meaning = EtcdErrorKind | 'lost'

interface Rule {
  /** A part of what etcd says (etcdserver/api/v3rpc/rpctypes/error.go). */
  readonly says: string
  readonly means: Meaning
  readonly lease?: LeaseTrouble
  /** What a person should read instead. */
  readonly sentence?: (asked: Asked) => string
}

const FULL =
  'etcd is full (NOSPACE), and takes no writes: compact and defragment it (`etcdctl compact REVISION`, `etcdctl defrag`) ' +
  'or raise --quota-backend-bytes, then `etcdctl alarm disarm`'

const RULES: readonly Rule[] = [
  // Said before anything is proposed, because each request is marked as one that needs a leader.
  { says: 'etcdserver: no leader', means: 'unreachable' },
  { says: 'etcdserver: too many requests', means: 'unreachable' },
  { says: 'etcdserver: not capable', means: 'unreachable' },
  { says: 'etcdserver: rpc not supported for learner', means: 'unreachable' },
  { says: 'raft proposal dropped', means: 'unreachable' },
  { says: 'mvcc: database space exceeded', means: 'full', sentence: () => FULL },
  { says: 'required revision has been compacted', means: 'compacted' },
  { says: 'requested lease not found', means: 'refused', lease: 'missing' },
  { says: 'lease already exists', means: 'refused', lease: 'taken' },
  {
    says: 'invalid user ID or password',
    means: 'refused',
    sentence: ({ user }) => `etcd lets nobody in as '${user}' with this password: look at user and password in the URL`,
  },
  {
    says: 'etcdserver: permission denied',
    means: 'refused',
    sentence: ({ user, prefix, isAdmin }) =>
      isAdmin
        ? `etcd lets only the role root do that: \`etcdctl user grant-role ${user} root\`, or leave it to somebody else`
        : `etcd refuses the user '${user}': give one of its roles the right, \`etcdctl role grant-permission ROLE readwrite --prefix ${prefix}\``,
  },
  {
    says: 'etcdserver: user name is empty',
    means: 'refused',
    sentence: () => 'etcd wants to know who asks: write user and password into the URL, etcd://user:password@host:2379',
  },
  {
    says: 'etcdserver: corrupt cluster',
    means: 'refused',
    sentence: () => 'etcd has found itself corrupt (CORRUPT), and takes no writes: see `etcdctl alarm list`',
  },
  // Of grpc-js and of `unary-calls.ts`, about what never left this process, and of HTTP/2, about what nobody has looked at.
  { says: 'Channel closed before call started', means: 'unreachable' },
  { says: 'Channel has been shut down', means: 'unreachable' },
  { says: 'No connection established', means: 'unreachable' },
  { says: 'Name resolution failed', means: 'unreachable' },
  { says: 'Failed to start HTTP/2 stream', means: 'unreachable' },
  { says: 'Stream refused by server', means: 'unreachable' },
  { says: 'message larger than max', means: 'refused' },
]

const REFUSALS = new Set([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.PERMISSION_DENIED,
  status.FAILED_PRECONDITION,
  status.OUT_OF_RANGE,
  status.UNIMPLEMENTED,
  status.DATA_LOSS,
  status.UNAUTHENTICATED,
])

/** The error that a caller gets for a status that is not OK, or for no answer in time. */
export function errorOf(error: unknown, asked: Asked): EtcdError {
  if (error instanceof EtcdError) return error
  const said = wordsOf(error)
  const rule = RULES.find(({ says }) => said.includes(says))
  const means = rule?.means ?? (REFUSALS.has((error as ServiceError).code) ? 'refused' : 'lost')
  const kind = means === 'lost' ? (asked.isWrite ? 'unknown' : 'unreachable') : means
  const sentence = rule?.sentence?.(asked) ?? sentenceOf(kind, said, asked)
  return new EtcdError(kind, sentence, { cause: error, lease: rule?.lease })
}

/** Whether another token may do: this one has run out, or who has which rights was changed, or there was none when it was not needed yet. */
export function isStalePass(error: unknown): boolean {
  const said = wordsOf(error)
  return (
    (error as ServiceError).code === status.UNAUTHENTICATED ||
    said.includes('etcdserver: invalid auth token') ||
    said.includes('etcdserver: revision of auth store is old') ||
    said.includes('etcdserver: user name is empty')
  )
}

export function isCancelled(error: unknown): boolean {
  return (error as ServiceError).code === status.CANCELLED
}

export function isNoLeader(error: unknown): boolean {
  return wordsOf(error).includes('etcdserver: no leader')
}

/** Whether it is about this endpoint, and another one may do better. */
export function isEndpointTrouble(error: unknown): boolean {
  const { code } = error as ServiceError
  const said = wordsOf(error)
  if (said.includes('etcdserver: ')) {
    return ['request timed out', 'server stopped', 'not capable', 'for learner'].some((part) => said.includes(part))
  }
  return code === status.UNAVAILABLE || code === status.INTERNAL || code === status.UNIMPLEMENTED
}

export function wordsOf(error: unknown): string {
  const { details, message } = error as Partial<ServiceError>
  return details || message || String(error)
}

function sentenceOf(kind: EtcdErrorKind, said: string, { endpoint }: Asked): string {
  if (kind === 'unreachable') return `etcd at ${endpoint} could not do it: ${said}`
  if (kind === 'unknown') return `etcd at ${endpoint} was lost in the middle of a change: ${said}`
  if (kind === 'compacted') return `etcd has forgotten that revision: ${said}`
  return `etcd at ${endpoint} refuses: ${said}`
}
