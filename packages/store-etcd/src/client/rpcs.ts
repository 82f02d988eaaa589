import { decoderOf, encoderOf, type Header, type Int64, type Rpc } from './messages.ts'
import type { KeyValueMessage } from './txn-messages.ts'

function rpc<Request extends object, Response>(
  path: string,
  request: string,
  response: string,
): Rpc<Request, Response> {
  return { path: `/etcdserverpb.${path}`, encode: encoderOf<Request>(request), decode: decoderOf<Response>(response) }
}

interface Lease {
  readonly id: number
}

export interface WatchRequest {
  readonly create?: {
    readonly key: string
    readonly rangeEnd?: string | undefined
    readonly startRevision: number
    readonly progressNotify: boolean
    readonly fragment: boolean
  }
  readonly cancel?: { readonly watchId: Int64 }
}

export interface WatchResponse {
  readonly header: Header
  readonly watchId: Int64
  readonly created: boolean
  readonly canceled: boolean
  readonly compactRevision: Int64
  readonly cancelReason: string
  /** More of it is to come. */
  readonly fragment: boolean
  readonly events: readonly { readonly type: number; readonly kv: KeyValueMessage }[]
}

interface StatusResponse {
  readonly header: Header
  readonly version: string
  readonly dbSize: Int64
  readonly leader: Int64
  readonly dbSizeInUse: Int64
}

export const grantRpc = rpc<Lease & { readonly ttl: number }, object>('Lease/LeaseGrant', 'LeaseGrantRequest', 'Empty')
export const revokeRpc = rpc<Lease, object>('Lease/LeaseRevoke', 'LeaseRequest', 'Empty')
export const keepAliveRpc = rpc<Lease, { readonly id: Int64; readonly ttl: Int64 }>(
  'Lease/LeaseKeepAlive',
  'LeaseRequest',
  'LeaseKeepAliveResponse',
)
export const timeToLiveRpc = rpc<Lease, { readonly ttl: Int64; readonly grantedTtl: Int64 }>(
  'Lease/LeaseTimeToLive',
  'LeaseRequest',
  'LeaseTimeToLiveResponse',
)
export const watchRpc = rpc<WatchRequest, WatchResponse>('Watch/Watch', 'WatchRequest', 'WatchResponse')
export const compactRpc = rpc<{ readonly revision: number }, object>('KV/Compact', 'CompactionRequest', 'Empty')
export const statusRpc = rpc<object, StatusResponse>('Maintenance/Status', 'Empty', 'StatusResponse')
export const alarmRpc = rpc<object, { readonly alarms: readonly { readonly alarm: number }[] }>(
  'Maintenance/Alarm',
  'AlarmRequest',
  'AlarmResponse',
)
export const authenticateRpc = rpc<{ readonly name: string; readonly password: string }, { readonly token: string }>(
  'Auth/Authenticate',
  'AuthenticateRequest',
  'AuthenticateResponse',
)
