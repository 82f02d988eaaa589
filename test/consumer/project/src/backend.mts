import assert from 'node:assert/strict'
import {
  type Backend,
  type Due,
  openRemoteStore,
  type Receiver,
  type RenewedSession,
  StoreUnreachable,
  systemTiming,
  type Transaction,
  type WrittenPolicy,
} from 'baton-lock/stores'

const away = async (): Promise<never> => {
  throw new StoreUnreachable('the database is away')
}

/** A backend of one's own for the remote engine, whose database is away. own-backend.mts has one that works. */
class AwayBackend implements Backend {
  readonly storeId = 'away'
  readonly process = 'consumer'
  readonly concurrency = 1
  nowMs = () => Date.now()
  listen = (_receiver: Receiver): Promise<void> => away()
  hearAll = (): Promise<void> => away()
  transaction = <Result,>(_work: (transaction: Transaction) => Promise<Result>): Promise<Result> => away()
  due = (): Promise<Due> => away()
  find = away
  counts = away
  queues = away
  clear = away
  insertSession = away
  renewSession = (): Promise<RenewedSession | undefined> => away()
  leasesOf = away
  placesOf = away
  endSession = away
  removeSession = away
  readPolicy = (): Promise<WrittenPolicy | undefined> => away()
  writePolicy = away
  close = async (): Promise<void> => {}
}

await assert.rejects(openRemoteStore(new AwayBackend(), { timing: systemTiming }), StoreUnreachable)
