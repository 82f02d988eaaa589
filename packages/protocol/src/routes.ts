import type { RequestType } from './requests.ts'

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly summary: string
}

/**
 * Where each request type lives in the HTTP interface. The server, /openapi.json and the client all read this table.
 * The body (of a GET: the query) is the request without its `type`.
 */
export const routes: Readonly<Record<RequestType, Route>> = {
  acquire: { method: 'POST', path: '/v1/acquire', summary: 'Ask for a grant, ask again, or claim one.' },
  release: { method: 'POST', path: '/v1/release', summary: 'Report the outcome and let go of a hold.' },
  renew: { method: 'POST', path: '/v1/renew', summary: 'Renew a grant or a place in line that has no session.' },
  cancel: { method: 'POST', path: '/v1/cancel', summary: 'Take an ask back, whatever has become of it.' },
  revoke: { method: 'POST', path: '/v1/revoke', summary: 'End a grant as an operator.' },
  forget: { method: 'POST', path: '/v1/forget', summary: 'Drop a kept success: the work is done again.' },
  progress: { method: 'POST', path: '/v1/progress', summary: 'Say how far the holder is.' },
  'add-reference': { method: 'POST', path: '/v1/references/add', summary: 'Say that a node uses a resource.' },
  'release-reference': {
    method: 'POST',
    path: '/v1/references/release',
    summary: 'Say that a node no longer uses a resource.',
  },
  'drop-node': { method: 'POST', path: '/v1/references/drop-node', summary: 'Drop all references of a dead node.' },
  'open-session': { method: 'POST', path: '/v1/sessions/open', summary: 'Open a session, or renew one.' },
  'renew-session': { method: 'POST', path: '/v1/sessions/renew', summary: 'Renew a session that is alive.' },
  'close-session': { method: 'POST', path: '/v1/sessions/close', summary: 'End a session with all of its places.' },
  'list-places': { method: 'POST', path: '/v1/sessions/places', summary: 'What hangs off a session.' },
  'leave-place': { method: 'POST', path: '/v1/sessions/leave', summary: 'Give one place of a session up.' },
  'get-resource': { method: 'GET', path: '/v1/resource', summary: 'Who holds, who waits, who references a resource.' },
  'list-waiters': {
    method: 'GET',
    path: '/v1/waiters',
    summary: 'All who wait for a resource, in all of its queues, oldest first, a page at a time.',
  },
  'list-resources': { method: 'GET', path: '/v1/resources', summary: 'List resources that are not idle.' },
  'get-timeline': {
    method: 'GET',
    path: '/v1/timeline',
    summary: 'The last grants of a resource, as far as this server has seen them.',
  },
  'get-overview': {
    method: 'GET',
    path: '/v1/overview',
    summary: 'Totals, and how the last minutes went, as far as this server has seen them.',
  },
  'get-policy': { method: 'GET', path: '/v1/policy', summary: 'Read the policy and its version.' },
  'apply-policy': { method: 'PUT', path: '/v1/policy', summary: 'Replace the policy if it still has this version.' },
  'get-who': { method: 'GET', path: '/v1/who', summary: 'Who the asker is to this server, and what it may do.' },
}

/** Many requests in one: `{"requests": [{"type": "acquire", …}, …]}`, answered `{"replies": […]}` in the same order. */
export const batchRoute: Route = {
  method: 'POST',
  path: '/v1/batch',
  summary: 'Many requests in one: all are checked before the first is carried out, in order.',
}

export const eventsRoute: Route = {
  method: 'GET',
  path: '/v1/events',
  summary: 'A stream of events (SSE); the first tells the present state.',
}

/** What it answers with is read by `baton store backup` and `baton store restore` alone. */
export const backupRoute: Route = {
  method: 'GET',
  path: '/v1/backup',
  summary: 'The whole store as one file, if it is a file store.',
}

/** Names the session whose events are wanted. A header, as URLs end up in logs and knowing a session is being it. */
export const SESSION_HEADER = 'baton-session'

/**
 * Comes with every answer of /v1: the id of the store that the server is over. Servers that a client takes for one another
 * have to have the same; where they do not, locks do not exclude one another across them.
 */
export const STORE_HEADER = 'baton-store'
