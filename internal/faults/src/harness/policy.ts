import { policySchema } from '@baton-lock/protocol/schemas'
import { stringify } from 'smol-toml'

/** Attempts that are used up, retry delays, and claim times that are shorter than a lease: as many ways as there are. */
const SAID = {
  namespaces: {
    default: { claimMs: 1_000, operations: { pull: { attempts: 3 }, update: { retryDelayMs: 200 } } },
  },
}

/** What every server is configured with. */
export const soakConfig = stringify({ policy: SAID })

/** What every client opens its store with, where there are no servers. */
export const soakPolicy = policySchema.parse(SAID)
