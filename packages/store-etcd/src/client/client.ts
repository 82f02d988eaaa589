import type { OutgoingHttpHeaders } from 'node:http2'
import type { Timing } from '@baton-lock/store/timing'
import { type Etcd, EtcdError, type Keys, type MemberStatus, type Txn, type TxnResult, type Watched } from '../etcd.ts'
import type { EtcdTarget } from '../etcd-url.ts'
import { CALL_MS, Calls } from './calls.ts'
import { Connection } from './connection.ts'
import { ANONYMOUS } from './credentials.ts'
import { KeepAlives } from './keep-alives.ts'
import { numberOf } from './messages.ts'
import { flat, nested } from './nesting.ts'
import { quotaOf } from './quota.ts'
import { alarmRpc, compactRpc, grantRpc, revokeRpc, statusRpc, timeToLiveRpc } from './rpcs.ts'
import { isSerializable, isWrite, txnRpc } from './txn-messages.ts'
import { Watch } from './watches.ts'

/** What is under way has so much time to end when the client is closed. */
const CLOSE_MS = 600
const ALARMS = ['NONE', 'NOSPACE', 'CORRUPT']
const READ = { isWrite: () => false }
const WRITE = { isWrite: () => true }

export class EtcdClient implements Etcd {
  readonly #target: EtcdTarget
  readonly #timing: Timing
  readonly #calls: Calls
  readonly #keepAlives: KeepAlives
  readonly #watches = new Set<Watch>()
  /** grpc-js lets a process end that waits for a connection: a client that is open keeps it alive. */
  readonly #letGo: () => void

  constructor(target: EtcdTarget, timing: Timing) {
    this.#target = target
    this.#timing = timing
    this.#calls = new Calls(target, timing)
    this.#keepAlives = new KeepAlives(this.#calls, timing)
    this.#letGo = timing.holdProcess()
  }

  async txn(txn: Txn, { timeoutMs }: { readonly timeoutMs?: number } = {}): Promise<TxnResult> {
    const sent = nested(txn)
    const options = { timeoutMs, isWrite: () => isWrite(sent), isLocal: isSerializable(sent) }
    const result = await this.#calls.ask(txnRpc, sent, options)
    return sent === txn ? result : flat(result)
  }

  async grantLease(id: number, ttlS: number): Promise<void> {
    await this.#calls.ask(grantRpc, { id, ttl: ttlS }, WRITE)
  }

  async revokeLease(id: number): Promise<boolean> {
    try {
      await this.#calls.ask(revokeRpc, { id }, WRITE)
      return true
    } catch (error) {
      if (error instanceof EtcdError && error.isNoLease) return false
      throw error
    }
  }

  keepAlive(id: number): Promise<number> {
    return this.#keepAlives.renew(id)
  }

  async leaseTimes(id: number): Promise<{ readonly leftS: number; readonly ttlS: number } | undefined> {
    const { ttl, grantedTtl } = await this.#calls.ask(timeToLiveRpc, { id }, READ)
    const leftS = numberOf(ttl)
    return leftS < 0 ? undefined : { leftS, ttlS: numberOf(grantedTtl) }
  }

  watch(keys: Keys, fromRevision: number, watched: Watched): () => void {
    const watch = new Watch(this.#calls, this.#timing, {
      keys,
      fromRevision,
      watched,
      onEnd: () => this.#watches.delete(watch),
    })
    this.#watches.add(watch)
    void watch.begin()
    return () => watch.cancel()
  }

  async compact(revision: number): Promise<void> {
    await this.#calls.ask(compactRpc, { revision }, { ...WRITE, isAdmin: true })
  }

  async status(): Promise<readonly MemberStatus[]> {
    // Newer versions of etcd want to know who asks. One without a leader lets nobody in, and older ones answer all the same.
    const pass = await this.#calls.open().then(
      (line) => line.pass,
      () => ANONYMOUS,
    )
    return Promise.all(this.#target.endpoints.map((endpoint) => this.#statusOf(endpoint, pass.localHeaders)))
  }

  quota(endpoint: string): Promise<number | undefined> {
    return quotaOf(endpoint, this.#target, CALL_MS)
  }

  async alarms(): Promise<readonly string[]> {
    const { alarms } = await this.#calls.ask(alarmRpc, {}, READ)
    return [...new Set(alarms.map(({ alarm }) => ALARMS[alarm] ?? `${alarm}`))]
  }

  prefer(endpoint: string): void {
    this.#calls.prefer(endpoint)
  }

  moveOn(): void {
    this.#calls.moveOn()
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.cancel()
    this.#keepAlives.close()
    await this.#calls.close(CLOSE_MS)
    this.#letGo()
  }

  /** Over a connection of its own. */
  async #statusOf(endpoint: string, headers: OutgoingHttpHeaders): Promise<MemberStatus> {
    let connection: Connection | undefined
    try {
      connection = await Connection.open(endpoint, this.#target, this.#timing)
      const said = await connection.ask(statusRpc, {}, { headers, timeoutMs: CALL_MS })
      return {
        endpoint,
        version: said.version,
        dbBytes: numberOf(said.dbSize),
        dbInUseBytes: numberOf(said.dbSizeInUse),
        isLeader: `${said.header.memberId}` === `${said.leader}`,
      }
    } catch (error) {
      const { message } = connection ? this.#calls.errorOf(error, connection, { isAdmin: true }) : (error as Error)
      return { endpoint, error: message }
    } finally {
      connection?.cancel()
    }
  }
}
