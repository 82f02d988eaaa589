import type { Call, ContentFault, ContentViolation } from './soak-log.ts'

/** What becomes of a fault goes on for some seconds: a server that comes back is found, a union is mounted again. */
const AFTERMATH_MS = 10_000

interface CallLog {
  readonly calls: readonly Call[]
  readonly faults: readonly ContentFault[]
  /** All blobs that images consist of. */
  readonly digests: ReadonlySet<string>
}

/**
 * A pull fails only where something was the matter: with its node, with the registry, or with the lock server. And no call fails
 * because a blob is not there, whatever is the matter: it can wait, or be fetched. What containerd has collected by itself, while
 * `ctr` went through its list, is no such blob; for a pull it is, which has a lease.
 */
export function checkCalls({ calls, faults, digests }: CallLog): ContentViolation[] {
  return calls.flatMap((call) => {
    if (call.error === undefined) return []
    const isPull = call.what.startsWith('pull')
    const missing = missingIn(call.error, digests)
    const isMissing = missing !== undefined && (isPull || !call.isCollected)
    if (isMissing) return [failed('missing', call, `not found ${missing}: ${call.error}`)]
    const explained = call.isAborted || faults.some((fault) => explains(fault, call))
    return isPull && !explained ? [failed('failed', call, `although nothing was wrong: ${call.error}`)] : []
  })
}

/** The blob that a call failed for because it is not there. */
export function missingIn(error: string, digests: ReadonlySet<string>): string | undefined {
  const lines = error.split('\n').slice(1).join(' ')
  if (!/not found|NotFound|no such file/.test(lines)) return undefined
  return lines.match(/sha256:[0-9a-f]{64}/g)?.find((digest) => digests.has(digest))
}

function explains({ kind, node, digest, fromMs, toMs }: ContentFault, call: Call): boolean {
  if (fromMs > call.toMs || toMs + AFTERMATH_MS < call.fromMs) return false
  if (kind === 'throttle') return false
  // A node that waits is told how the attempt of the other one failed.
  if (digest !== undefined) return call.digests.includes(digest)
  return node === undefined || node === call.node
}

function failed(rule: ContentViolation['rule'], call: Call, what: string): ContentViolation {
  const times = `${(call.fromMs / 1_000).toFixed(1)} to ${(call.toMs / 1_000).toFixed(1)} s`
  return { rule, about: call.node, what: `at ${times}: ${call.what}: ${what.replaceAll('\n', ' ').trim()}` }
}
