import { LIMITS, QUOTAS, type Quotas } from '@baton-lock/protocol'
import type { Log, LogFields, Service } from '@baton-lock/service'

/** What a server was started with, as far as its log tells. */
export interface Started {
  readonly url: string
  readonly version: string
  /** What kind it is, where it is (without credentials), and whether it was made just now. */
  readonly store: { readonly kind: string; readonly at?: string | undefined; readonly isNew?: boolean | undefined }
  readonly tokens: number
  readonly tls: 'off' | 'on' | 'client certificates'
  readonly resultLimit: number
  readonly quotas: Quotas
}

/** The entry by which a server on the wrong store, or with the wrong settings, is recognised. */
export async function logStart(log: Log, service: Service, started: Started): Promise<void> {
  const { url, version, store, tokens, tls } = started
  // A store that has gone away since is no reason to say nothing.
  const [counts, policy] = await Promise.all([service.counts(), policyOf(service)].map(unlessAway))
  log.info('started', {
    version,
    nodeVersion: process.version,
    pid: process.pid,
    url,
    store: store.kind,
    storeAt: store.at,
    storeId: service.storeId,
    storeIsNew: store.isNew,
    ...counts,
    ...policy,
    tokens,
    tls,
    ...changed(started),
  })
}

async function policyOf(service: Service): Promise<object> {
  const policy = await service.call({ type: 'get-policy' })
  return policy.status === 'policy' ? { policyVersion: policy.version } : {}
}

async function unlessAway(asked: Promise<object>): Promise<object> {
  return asked.catch(() => ({}))
}

/** The limits and quotas that are not the usual ones. */
function changed({ resultLimit, quotas }: Started): LogFields {
  const others = (['node', 'token'] as const).flatMap((of) =>
    Object.entries(quotas[of]).flatMap(([what, most]) =>
      most === QUOTAS[of][what as keyof Quotas['node']] ? [] : [[`${of}.${what}`, most] as const],
    ),
  )
  return {
    ...(resultLimit !== LIMITS.resultBytes && { resultLimit }),
    ...(others.length > 0 && { quotas: Object.fromEntries(others) }),
  }
}
