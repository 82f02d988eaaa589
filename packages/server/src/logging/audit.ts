import type { ErrorCode, NamedToken, ReplyOf, Request, RequestType, Role } from '@baton-lock/protocol'
import type { Log, LogFields } from '@baton-lock/service'
import type { Asker } from '../auth/guard.ts'
import { requestAccess } from '../auth/roles.ts'
import type { TokenChanges } from '../auth/tokens.ts'
import { knownBodyOf } from '../refusal.ts'

/** What an operator has done, and how it was answered. Its values are what others wrote: they are data wherever it is shown. */
export interface AuditEntry {
  /** The name of the token, or of the entry of a certificate; `anybody` where the server has no tokens, `tokens file` of what was changed there. */
  readonly who: string
  readonly role?: Role
  /** Where it came from. */
  readonly address?: string
  readonly what: RequestType | 'backup' | 'add-token' | 'remove-token'
  /** Of a change of tokens: the name of the one that it is about. */
  readonly token?: string
  readonly namespace?: string
  readonly operation?: string
  readonly resource?: string
  readonly node?: string
  readonly nodes?: readonly string[]
  readonly fence?: number
  /** How many resources a dead node was dropped from. */
  readonly resources?: number
  /** Of the policy that was applied, and of the one before it. */
  readonly version?: number
  readonly versionBefore?: number
  /** By what its request is found in the log: its id, or the stream that it came on and its number there. */
  readonly requestId?: string
  readonly traceId?: string
  readonly spanId?: string
  readonly stream?: string
  readonly request?: number
  /** The `status` of the answer, and why it was refused. */
  readonly answer: string
  readonly code?: ErrorCode
}

/** Where they go. */
export type AuditSink = (entry: AuditEntry) => void

/** Entries of the server's own log. */
export function auditToLog(log: Log): AuditSink {
  return (entry) => log.info('audit', { audit: true, ...entry })
}

/** How an audited request was answered: the reply, or what was thrown in its place. */
export type OnAnswer = (reply: ReplyOf<RequestType> | undefined, error?: unknown) => void

/** Writes down the requests of operators once they are answered. The table in auth/roles.ts says which requests these are. */
export class Audit {
  readonly #sink: AuditSink

  constructor(sink: AuditSink) {
    this.#sink = sink
  }

  /** Whether the request is one of an operator. */
  wants(asker: Asker, { type }: Request): boolean {
    const { audited } = requestAccess[type]
    return audited === 'always' || (audited === 'by-admin' && asker.token?.role === 'admin')
  }

  /** Whom to tell of the answer to a request that is. `name`: by what it is found in the log. */
  of(asker: Asker, request: Request, name: LogFields): OnAnswer {
    // Who has gone before the answer is there has no address any more.
    const { remoteAddress: address } = asker.socket
    return (reply, error) =>
      this.#sink({ ...whoOf(asker, address), ...whatOf(request), ...answerOf(reply, error), ...name })
  }

  /** Whom to tell how a request for a backup ended: it was sent, refused, or cut on the way. */
  ofBackup(asker: Asker, name: LogFields): (answer: 'sent' | 'refused' | 'cut', error?: unknown) => void {
    const { remoteAddress: address } = asker.socket
    return (answer, error) => {
      const how = answer === 'refused' ? answerOf(undefined, error) : { answer }
      this.#sink({ ...whoOf(asker, address), what: 'backup', ...how, ...name })
    }
  }

  /** The server was given other tokens while it runs. */
  noteTokens({ added, removed }: TokenChanges): void {
    for (const token of removed) this.#sink({ ...changeOf('remove-token', token) })
    for (const token of added) this.#sink({ ...changeOf('add-token', token) })
  }
}

function whoOf({ token }: Asker, address: string | undefined) {
  return {
    who: token?.name ?? 'anybody',
    ...(token && { role: token.role }),
    ...(address !== undefined && { address }),
  }
}

/** What it names of these; a session is never among them. */
const NAMED = ['namespace', 'operation', 'resource', 'node', 'fence'] as const

function whatOf(request: Request) {
  const fields = request as Partial<Record<(typeof NAMED)[number], never>>
  const named = NAMED.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]])
  const before = request.type === 'apply-policy' ? { versionBefore: request.version } : {}
  return { what: request.type, ...(Object.fromEntries(named) as Partial<AuditEntry>), ...before }
}

/** What the answer says of it: whose grant was revoked, which version the policy has now. */
function answerOf(reply: ReplyOf<RequestType> | undefined, error: unknown): Pick<AuditEntry, 'answer' | 'code'> {
  const body = reply ?? knownBodyOf(error) ?? { status: 'refused', code: 'internal' as const }
  if (body.status === 'refused') return { answer: 'refused', code: body.code }
  const {
    status: answer,
    fence,
    node,
    version,
    resources,
  } = body as {
    readonly [Name in 'fence' | 'version']?: number
  } & { readonly status: string; readonly node?: string; readonly resources?: unknown }
  const said = { fence, node, version, ...(typeof resources === 'number' && { resources }) }
  return { answer, ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) }
}

function changeOf(what: 'add-token' | 'remove-token', { name, role, nodes, namespace }: NamedToken): AuditEntry {
  return {
    who: 'tokens file',
    what,
    token: name,
    role,
    ...(nodes && { nodes }),
    ...(namespace !== undefined && { namespace }),
    answer: 'done',
  }
}
