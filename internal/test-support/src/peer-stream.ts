import { Socket } from 'node:net'
import type { ServiceRequest } from '@baton-lock/protocol'
import { defaultLimits } from '@baton-lock/server/limits'
import { knownBodyOf } from '@baton-lock/server/refusal'
import { Account } from '@baton-lock/server/scheduling/fair-queue'
import { PeerStream, type PeerStreamOptions } from '@baton-lock/server/web-socket/peer-stream'
import { noLog } from '@baton-lock/service'

type Required = 'service' | 'wire' | 'timers'

/** The server's side of one stream, whose client may do everything, at once. An unknown error is thrown. */
export function newPeerStream(
  options: Pick<PeerStreamOptions, Required> & Partial<Omit<PeerStreamOptions, Required>>,
): PeerStream {
  return new PeerStream({
    asker: { onlyLooks: false, socket: new Socket() },
    admission: { admit: (_, request) => ({ request: request as ServiceRequest, facts: {} }) },
    guard: { checkScope: () => ({}) },
    streams: { watch: () => undefined },
    requestLog: { failed, named: () => noLog },
    queue: { run: (_, work) => work() },
    account: new Account(),
    limits: defaultLimits,
    id: 'stream',
    ...options,
  })
}

function failed(error: unknown) {
  const body = knownBodyOf(error)
  if (!body) throw error
  return body
}
