import { completePolicy, defaultPolicy, isSamePolicy, type Policy, saidIn } from '../../core/index.ts'
import { StoreUnavailable, type VersionedPolicy } from '../store.ts'
import type { Connections } from './connections.ts'
import { Packet, type Run } from './packet.ts'

/** This process is configured otherwise than the store. */
export class PolicyMismatch extends StoreUnavailable {}

const READ = 'SELECT policy_version, policy FROM baton_store WHERE id = 1'

/** The policy lives in the store, with a version; here is the last one that was read. */
export class StoredPolicy {
  #known: VersionedPolicy | undefined

  /** Writes down the policy where there is none yet; where there is one, it must be the same as this process's own. */
  async settle(connections: Connections, policy: Policy | undefined): Promise<void> {
    const first = 'UPDATE baton_store SET policy_version = 1, policy = ? WHERE id = 1 AND policy_version = 0'
    const body = JSON.stringify(saidIn(policy ?? defaultPolicy))
    const stored = await this.read(connections)
    if (!stored) await connections.query(new Packet().add(first, body))
    const present = stored ?? (await this.read(connections))!
    if (policy && !isSamePolicy(present.policy, policy)) {
      throw new PolicyMismatch(
        `policy-mismatch: the store has another policy (version ${present.version}) than this process is configured with: ` +
          'see `baton policy show --store URL`, then change the configuration, or the store with `baton policy apply`',
      )
    }
  }

  async read(connections: Connections): Promise<VersionedPolicy | undefined> {
    const [rows] = await connections.query(new Packet().add(READ))
    return this.#take(rows[0])
  }

  /** The policy of that version. A step reads it in its own transaction where it is news. */
  async ofVersion(run: Run, version: number): Promise<Policy> {
    if (this.#known?.version !== version) this.#take((await run(new Packet().add(READ)))[0][0])
    return this.#known!.policy
  }

  async apply(connections: Connections, policy: Policy, expectedVersion: number) {
    const change = `UPDATE baton_store SET policy_version = policy_version + 1, policy = ?
      WHERE id = 1 AND policy_version = ?`
    const packet = new Packet().add(change, JSON.stringify(saidIn(policy)), expectedVersion).add(READ)
    const [{ affectedRows }, rows] = await connections.query(packet)
    return { ...this.#take(rows[0])!, applied: affectedRows > 0 }
  }

  #take(row: { policy_version: number; policy: string | null } | undefined): VersionedPolicy | undefined {
    if (!row?.policy) return undefined
    this.#known = { version: row.policy_version, policy: completePolicy(JSON.parse(row.policy)) }
    return this.#known
  }
}
