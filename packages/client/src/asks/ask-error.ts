import { formatDuration } from '@baton-lock/protocol'
import type { ClientParts } from '../client-parts.ts'
import { aboutSubject, BatonError, type ErrorSubject, errorAbout, RefusedError, UnavailableError } from '../errors.ts'
import { within } from '../requests/sender.ts'
import type { AskSpec } from './ask-spec.ts'

/** How long to look for the holder, whom an error names: as long as a request that does not wait may take. */
const LOOK_MS = 1_000

interface AskEnd {
  readonly error: unknown
  /** The last known position; 0 if it was never in the queue. */
  readonly position: number
  readonly waitedMs: number
}

/** What a request for a grant is about. */
export function subjectOf({ namespace, operation, resource }: AskSpec): ErrorSubject {
  return { namespace, operation, resource }
}

/** The error of a request for a grant as its caller gets it: it says what was requested, who holds it, and how long it has waited. */
export async function askError(client: ClientParts, spec: AskSpec, end: AskEnd): Promise<unknown> {
  const { error, position, waitedMs } = end
  if (!(error instanceof BatonError)) return error
  const subject = { ...subjectOf(spec), position: position || undefined }
  const waited = `after waiting ${formatDuration(waitedMs)}`
  const line = position > 1 ? `; ${ordinal(position)} in line` : position === 1 ? '; next in line' : ''
  switch (error.code) {
    case 'aborted':
      // As the Web Locks API does.
      if (error.cause instanceof Error) return error.cause
      return new BatonError('aborted', aboutSubject(subject, `given up by its signal ${waited}${line}`), {
        ...subject,
        cause: error.cause,
      })
    case 'unavailable':
      return errorAbout(error, subject, `${error.message.replace(/\.$/, '')}; gave up ${waited}${line}`)
    case 'busy':
    case 'wait-over': {
      if (spec.isTry) return error
      const holder = await holderOf(client, spec)
      if (holder instanceof UnavailableError && error.code === 'wait-over') {
        return errorAbout(holder, subject, `${holder.message.replace(/\.$/, '')}; gave up ${waited}${line}`)
      }
      const known = { ...subject, ...(holder instanceof Error ? {} : holder) }
      return new RefusedError(error.code, aboutSubject(subject, blockedText(error.code, known, waited) + line), known)
    }
    default:
      return errorAbout(error, subject)
  }
}

function blockedText(code: 'busy' | 'wait-over', { holder, heldForMs }: ErrorSubject, waited: string): string {
  const held = holder === undefined ? undefined : `held by ${holder} (${formatDuration(heldForMs ?? 0)})`
  if (code === 'busy') return `${held ?? 'busy'}, and this request does not wait`
  return held === undefined ? `not granted ${waited}` : `still ${held} ${waited}`
}

/** Who holds it at this moment, if anybody does; an error if there is no answer. */
async function holderOf(
  { clock, sender }: ClientParts,
  { namespace, operation, resource }: AskSpec,
): Promise<Pick<ErrorSubject, 'holder' | 'heldForMs'> | UnavailableError> {
  const request = { type: 'get-resource', namespace, resource } as const
  try {
    const reply = await sender.request<'get-resource'>(request, { leftMs: within(clock, LOOK_MS) })
    if (reply.status === 'refused') return {}
    const { grants } = reply.resource
    const grant = grants.find((each) => each.operation === operation) ?? grants[0]
    return grant ? { holder: grant.node, heldForMs: Math.max(0, reply.nowMs - grant.sinceMs) } : {}
  } catch (error) {
    return error instanceof UnavailableError ? error : {}
  }
}

function ordinal(n: number): string {
  const isTeen = n % 100 >= 11 && n % 100 <= 13
  return `${n}${(isTeen ? undefined : ['', 'st', 'nd', 'rd'][n % 10]) || 'th'}`
}
