import { errorBody, type ReplyOf, type RequestOf, type RequestType, requestSchemas } from '../protocol/index.ts'
import { Service, systemClock } from '../service/index.ts'
import { type Clock, type Store, StoreUnavailable, UnknownOutcome } from '../stores/store.ts'
import type { Baton, ConnectOptions } from './api.ts'
import { Client } from './client.ts'
import { systemClientClock } from './clock.ts'
import { UnavailableError } from './errors.ts'
import { systemRandom } from './random.ts'
import type { InputOf, StreamHandlers, StreamScope, Transport } from './transport.ts'

/** A client in process on a store: the same interface without a server. */
export async function open(storeUrl: string, options: ConnectOptions = {}): Promise<Baton> {
  const clock = systemClock()
  const store = await openStore(storeUrl, clock).catch((error) => {
    clock.stop()
    throw error instanceof StoreUnavailable ? new UnavailableError(error.message, { cause: error }) : error
  })
  const service = new Service({ store })
  const transport = inProcessTransport(service, () => clock.stop())
  const notice = options.onNotice ?? (() => {})
  return new Client(transport, { clock: systemClientClock(), notice, random: systemRandom }, options)
}

async function openStore(url: string, clock: Clock): Promise<Store> {
  const scheme = url.split(':', 1)[0]
  switch (scheme) {
    case 'memory': {
      const { openMemoryStore } = await import('../stores/memory/index.ts')
      return openMemoryStore({ clock })
    }
    case 'file': {
      const { directoryOf, openFileStore } = await import('../stores/file/index.ts')
      return openFileStore({ directory: directoryOf(url), clock })
    }
    case 'mysql': {
      const { openMysqlStore } = await import('../stores/mysql/index.ts')
      return openMysqlStore({ url })
    }
    default:
      throw new TypeError(`no store is known as '${scheme}:'; known are file:DIR, mysql://… and memory:`)
  }
}

/** Calls a service directly, as a server would: requests are checked, and what comes back is nobody else's. */
export function inProcessTransport(service: Service, onClose: () => void = () => {}): Transport {
  return {
    isDirect: true,
    async call<Type extends RequestType>(request: InputOf<Type>): Promise<ReplyOf<Type>> {
      const checked = requestSchemas[request.type as RequestType].safeParse(request)
      if (!checked.success) return errorBody('bad-request', checked.error.issues.map(issueText).join('; '))
      try {
        return structuredClone(await service.call<Type>(checked.data as RequestOf<Type> & { type: Type }))
      } catch (error) {
        if (error instanceof StoreUnavailable || error instanceof UnknownOutcome) {
          throw new UnavailableError(error.message, { cause: error })
        }
        throw error
      }
    },
    listen: (scope, handlers, options = {}) => listen(service, scope, handlers, options.lastId),
    async close() {
      await service.close()
      onClose()
    },
  }
}

function listen(service: Service, scope: StreamScope, { onEvent, onEnd }: StreamHandlers, lastId?: string) {
  let closed = false
  const stop = service.listen(scope, (event, id) => closed || onEvent(structuredClone(event), id), lastId)
  stop.catch((error) => closed || onEnd(error instanceof Error ? error.message : String(error)))
  return {
    close() {
      closed = true
      void stop.then(
        (end) => end(),
        () => {},
      )
    },
  }
}

function issueText({ path, message }: { path: PropertyKey[]; message: string }): string {
  return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`
}
