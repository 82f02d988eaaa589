import type { Comparison, KeyValue, Operation, Outcome, RangeOptions, Txn, TxnResult } from '../etcd.ts'
import { decoderOf, encoderOf, type Header, type Int64, numberOf, type Rpc } from './messages.ts'

const ASCENDING = 1
const SORT_TARGETS = { mod: 3 } as const
const COMPARE_RESULTS = { equal: 0, greater: 1, less: 2 } as const
const COMPARE_TARGETS = { create: 1, mod: 2 } as const

export interface KeyValueMessage {
  readonly key: string
  readonly value: string
  readonly createRevision: Int64
  readonly modRevision: Int64
  readonly version: Int64
  readonly lease: Int64
}

interface TxnResponse {
  readonly header: Header
  readonly succeeded: boolean
  readonly responses: readonly {
    readonly range: { readonly kvs: readonly KeyValueMessage[]; readonly count: Int64 } | null
    readonly txn: TxnResponse | null
  }[]
}

const encode = encoderOf('TxnRequest')
const decode = decoderOf<TxnResponse>('TxnResponse')

export const txnRpc: Rpc<Txn, TxnResult> = {
  path: '/etcdserverpb.KV/Txn',
  encode: (txn) => encode(txnMessage(txn)),
  decode: (bytes) => {
    const response = decode(bytes)
    return { ...txnResult(response), revision: numberOf(response.header.revision) }
  },
}

/** Whether it can change anything. */
export function isWrite({ success, failure = [] }: Txn): boolean {
  return success.some(changes) || failure.some(changes)
}

/** Whether any member answers it by itself, with or without a quorum: etcd's own rule. */
export function isSerializable({ success, failure = [] }: Txn): boolean {
  return success.every(isLocal) && failure.every(isLocal)
}

export function keyValueOf({ key, value, createRevision, modRevision, version, lease }: KeyValueMessage): KeyValue {
  return {
    key,
    value,
    createRevision: numberOf(createRevision),
    modRevision: numberOf(modRevision),
    version: numberOf(version),
    lease: numberOf(lease),
  }
}

function changes(operation: Operation): boolean {
  return 'txn' in operation ? isWrite(operation.txn) : !('range' in operation)
}

function isLocal(operation: Operation): boolean {
  return 'range' in operation && operation.range.serializable === true
}

function txnMessage({ compare, success, failure }: Txn): object {
  return {
    compare: compare.map(comparisonMessage),
    success: success.map(operationMessage),
    ...(failure && { failure: failure.map(operationMessage) }),
  }
}

function comparisonMessage({ key, end, target, is, revision }: Comparison): object {
  return {
    result: COMPARE_RESULTS[is],
    target: COMPARE_TARGETS[target],
    key,
    rangeEnd: end,
    ...(target === 'create' ? { createRevision: revision } : { modRevision: revision }),
  }
}

function operationMessage(operation: Operation): object {
  if ('put' in operation) return { put: operation.put }
  if ('range' in operation) return { range: rangeMessage(operation.range) }
  if ('delete' in operation) return { deleteRange: { key: operation.delete.key, rangeEnd: operation.delete.end } }
  return { txn: txnMessage(operation.txn) }
}

function rangeMessage(range: RangeOptions): object {
  const { key, end, limit, keysOnly, countOnly, minModRevision, sort, serializable } = range
  return {
    key,
    rangeEnd: end,
    limit,
    keysOnly,
    countOnly,
    minModRevision,
    serializable,
    ...(sort && { sortOrder: ASCENDING, sortTarget: SORT_TARGETS[sort] }),
  }
}

function txnResult({ succeeded, responses }: TxnResponse): TxnResult {
  const outcomes = responses.map(({ range, txn }): Outcome => {
    if (range) return { range: { kvs: range.kvs.map(keyValueOf), count: numberOf(range.count) } }
    return txn ? { txn: txnResult(txn) } : undefined
  })
  return { succeeded, revision: 0, outcomes }
}
