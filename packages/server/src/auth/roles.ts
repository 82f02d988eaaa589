import {
  backupRoute,
  batchRoute,
  eventsRoute,
  type RequestType,
  type Role,
  routes,
  streamRoute,
} from '@baton-lock/protocol'

/** Who may ask for something, where the server has tokens, and whether an operator's log says that it was asked for. */
export interface Access {
  /** Those that may. Nothing: everybody, without a token. */
  readonly roles?: readonly Role[]
  /** Tells of all namespaces: a token that is for one of them may not ask. */
  readonly isOfAll?: true
  /** `by-admin`: where an admin has asked, as whoever acts for its own nodes is no operator. */
  readonly audited?: 'always' | 'by-admin'
  /** Is for people to look at: links of other sites may lead there. */
  readonly isPage?: true
}

const EVERYBODY: Access = {}
const PAGE: Access = { isPage: true }
const READS: Access = { roles: ['node', 'observe', 'admin'] }
const ACTS: Access = { roles: ['node', 'admin'] }
const WATCHES: Access = { roles: ['observe', 'admin'], isOfAll: true }
const OPERATES: Access = { roles: ['admin'], audited: 'always' }

/**
 * Every request, at its route, in a batch and on a stream. Whom a `node` token may act for, and which namespace a token is
 * bound to, is not said here: that depends on what the request names.
 */
export const requestAccess: Readonly<Record<RequestType, Access>> = {
  acquire: ACTS,
  release: ACTS,
  renew: ACTS,
  cancel: ACTS,
  revoke: OPERATES,
  forget: { ...ACTS, audited: 'always' },
  progress: ACTS,
  'add-reference': { ...ACTS, audited: 'by-admin' },
  'release-reference': { ...ACTS, audited: 'by-admin' },
  'drop-node': { ...ACTS, audited: 'always' },
  'open-session': ACTS,
  'renew-session': ACTS,
  'close-session': ACTS,
  // A session is its id: who may know its places may also have them.
  'list-places': ACTS,
  'leave-place': ACTS,
  'get-resource': READS,
  'list-waiters': READS,
  'list-resources': READS,
  'get-timeline': READS,
  'get-overview': READS,
  'get-policy': READS,
  'apply-policy': OPERATES,
  'get-who': READS,
}

/** Every other route. The requests that come in a batch or on a stream have rows of their own. */
const pathAccess = {
  [`POST ${batchRoute.path}`]: READS,
  [`GET ${eventsRoute.path}`]: READS,
  [`GET ${streamRoute.path}`]: READS,
  // Ids of sessions are in it: whoever has it can be every client.
  [`GET ${backupRoute.path}`]: { roles: ['admin'], isOfAll: true, audited: 'always' },
  'POST /lock': ACTS,
  'POST /unlock': ACTS,
  // A poll claims what it finds.
  'GET /lock/status': ACTS,
  'POST /lock/status': ACTS,
  'GET /lock/subscribe': READS,
  'GET /healthz': EVERYBODY,
  'HEAD /healthz': EVERYBODY,
  'GET /readyz': EVERYBODY,
  'HEAD /readyz': EVERYBODY,
  'GET /openapi.json': EVERYBODY,
  'GET /metrics': WATCHES,
  'HEAD /metrics': WATCHES,
  'GET /': PAGE,
  'HEAD /': PAGE,
  'GET /assets/:name': EVERYBODY,
  'HEAD /assets/:name': EVERYBODY,
} as const satisfies Readonly<Record<string, Access>>

/** The rows of all routes, by method and path. */
export const routeAccess: ReadonlyMap<string, Access> = new Map([
  ...(Object.entries(routes) as [RequestType, (typeof routes)[RequestType]][]).map(
    ([type, { method, path }]) => [`${method} ${path}`, requestAccess[type]] as const,
  ),
  ...Object.entries(pathAccess),
])

/** The row of a route, of all of its methods. Throws if there is none: nothing is served that nobody has thought about. */
export function accessTo({
  method,
  path,
}: {
  readonly method: string | readonly string[]
  readonly path: string
}): Access {
  const rows = [method].flat().map((one) => {
    const row = routeAccess.get(`${one} ${path}`)
    if (!row) throw new Error(`${one} ${path} has no row in auth/roles.ts`)
    return row
  })
  if (rows.some((row) => row !== rows[0])) throw new Error(`the rows of ${path} in auth/roles.ts differ`)
  return rows[0]!
}
