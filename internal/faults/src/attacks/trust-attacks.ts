import type { Attack, Target } from './attack.ts'
import { ask, httpText, rawSocket } from './request.ts'

/** Attacks by speaking for somebody else. Each returns what it got and should not have got. */
export const trustAttacks: readonly Attack[] = [
  {
    name: 'in-the-name-of-the-victim',
    does: 'the token of one node asks, releases, cancels and reports for another',
    run: (target) =>
      tried(target, async () => {
        const view = await ask(target, '/v1/resource?resource=victim-held', { method: 'GET' })
        const [grant] =
          (view?.body.resource as { grants: { owner: string; fence: number }[] } | undefined)?.grants ?? []
        const place = {
          operation: 'lock',
          resource: 'victim-held',
          node: 'victim',
          owner: grant?.owner,
          fence: grant?.fence,
        }
        return [
          await refused(target, '/v1/release', { ...place, hold: '1', outcome: 'success' }),
          await refused(target, '/v1/cancel', { ...place, fence: undefined, hold: '1' }),
          await refused(target, '/v1/progress', { ...place, progress: 1 }),
          await refused(target, '/v1/acquire', { ...place, fence: undefined, hold: '1' }),
          await refused(target, '/v1/revoke', { operation: 'lock', resource: 'victim-held' }),
          await refused(target, '/v1/references/drop-node', { node: 'victim' }),
          await refused(target, '/v1/sessions/open', { session: 'a-session-of-the-attacker', node: 'victim' }),
        ]
      }),
  },
  {
    name: 'in-ones-own-name',
    does: 'one node reports on what another holds, with its owner, its hold and its fence',
    run: (target) =>
      tried(target, async () => {
        const view = await ask(target, '/v1/resource?resource=victim-held', { method: 'GET' })
        const [grant] =
          (view?.body.resource as { grants: { owner: string; fence: number }[] } | undefined)?.grants ?? []
        const place = { operation: 'lock', resource: 'victim-held', owner: grant?.owner }
        return [
          await refused(target, '/v1/release', { ...place, hold: '1', fence: grant?.fence, outcome: 'success' }),
          await refused(target, '/v1/release', {
            ...place,
            node: 'attacker',
            hold: '1',
            fence: grant?.fence,
            outcome: 'success',
          }),
        ]
      }),
  },
  {
    name: 'a-page-of-the-web',
    does: 'a web page of somebody else posts to a server without tokens, and shows its pictures',
    isOpen: true,
    run: (target) =>
      tried(target, async () => {
        const page = { origin: 'https://page.example', 'sec-fetch-site': 'cross-site' }
        const body = { type: 'pull', resource_id: 'of-a-page', node_id: 'page' }
        return [
          await refused(target, '/lock', body, { ...page, 'content-type': 'text/plain' }),
          await refused(target, '/v1/revoke', { operation: 'lock', resource: 'victim-held' }, page),
          await refusedByName(target, 'rebound.example'),
        ]
      }),
  },
]

/** It is no flood. */
const ROUND_MS = 20

/** What came of one that has to be refused. */
async function refused(
  target: Target,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<string | undefined> {
  const reply = await ask(target, path, { body, headers })
  if (!reply || reply.status >= 400) return undefined
  return `${path} was answered ${reply.status} ${JSON.stringify(reply.body)}`
}

/** The same under a name that somebody has made to point here; `fetch` would not send it. */
async function refusedByName(target: Target, name: string): Promise<string | undefined> {
  const socket = await rawSocket(target)
  const body = { operation: 'lock', resource: 'of-a-page', node: 'p', owner: 'p', hold: 'h' }
  socket.write(httpText('POST', '/v1/acquire', { body, headers: { Host: name } }))
  const head = await new Promise<string>((resolve) => {
    socket.once('data', (data) => resolve(String(data).split('\r\n')[0]!)).once('close', () => resolve(''))
  })
  socket.destroy()
  return head.startsWith('HTTP/1.1 2') ? `under the name ${name} it was answered ${head}` : undefined
}

/** Over and over; what was seen is told once. */
async function tried(
  { signal }: Target,
  round: () => Promise<readonly (string | undefined)[]>,
): Promise<readonly string[]> {
  const seen = new Set<string>()
  while (!signal.aborted) {
    for (const what of await round()) if (what !== undefined) seen.add(what)
    await new Promise((resolve) => setTimeout(resolve, ROUND_MS))
  }
  return [...seen]
}
