import { completePolicy, defaultPolicy, isSamePolicy, type Policy, saidIn } from '@baton-lock/core'
import { StoreUnavailable, type VersionedPolicy } from '../store.ts'
import type { Backend, WrittenPolicy } from './backend.ts'

/** This process is configured otherwise than the store. */
export class PolicyMismatch extends StoreUnavailable {}

/** The policy lives in the store, with a version; here is the last one that was read. */
export class StoredPolicy {
  readonly #backend: Backend
  #known: VersionedPolicy | undefined

  constructor(backend: Backend) {
    this.#backend = backend
  }

  /** Writes down the policy where there is none yet; where there is one, it must be the same as this process's own. */
  async begin(policy: Policy | undefined): Promise<void> {
    const stored = await this.#backend.readPolicy()
    if (!stored) await this.#backend.writePolicy(textOf(policy ?? defaultPolicy), 0)
    const present = stored ? this.#learn(stored) : await this.read()
    if (policy && !isSamePolicy(present.policy, policy)) {
      throw new PolicyMismatch(
        `policy-mismatch: the store has another policy (version ${present.version}) than this process is configured with: ` +
          'see `baton policy show --store URL`, then change the configuration, or the store with `baton policy apply`',
      )
    }
  }

  async read(): Promise<VersionedPolicy> {
    return this.#learn((await this.#backend.readPolicy())!)
  }

  /** The policy of that version; it is read where it is news. */
  async ofVersion(version: number, read: () => Promise<WrittenPolicy>): Promise<Policy> {
    const known = this.#known?.version === version ? this.#known : this.#learn(await read())
    return known.policy
  }

  async apply(policy: Policy, expectedVersion: number): Promise<VersionedPolicy & { readonly applied: boolean }> {
    const applied = await this.#backend.writePolicy(textOf(policy), expectedVersion)
    return { ...(await this.read()), applied }
  }

  #learn({ version, text }: WrittenPolicy): VersionedPolicy {
    this.#known = { version, policy: completePolicy(JSON.parse(text)) }
    return this.#known
  }
}

function textOf(policy: Policy): string {
  return JSON.stringify(saidIn(policy))
}
