import { type Baton, RefusedError, type RunContext, type VerifyWhen } from '@baton-lock/client'
import { onAbort } from '@baton-lock/client/internal'
import type { Removal } from '../blobs/removal.ts'
import { ContentError } from '../errors.ts'
import type { ContentWhenUnavailable } from '../node/config.ts'
import type { Reachability } from './reachability.ts'

/** The one who may fetch a blob now. */
export interface Turn {
  /** 0: without a grant. */
  readonly fence: number
  /** How the attempt before this one ended, and on which node. */
  readonly previous: RunContext['previous']
  progress(progress: { readonly bytes: number; readonly total: number }): void
}

interface PullRequest {
  readonly digest: string
  /** Gives it up. */
  readonly signal: AbortSignal
  /** Whether the blob can be read from the union. */
  isThere(when: VerifyWhen): Promise<boolean>
  /** Whether it lies in this node's own folder, where nobody else can remove it from now on. */
  keepOwn(): Promise<boolean>
  /** Fetches it. Resolves when it is published. */
  fetch(turn: Turn): Promise<{ readonly bytes: number }>
}

/**
 * `fetched` and `found`: the lock server knows that this node uses it. `unknown` and `kept`: it was fetched, or lay in the
 * node's own folder, and the server does not know yet; it was away, or the grant was lost meanwhile.
 */
export type Pulled = 'fetched' | 'found' | 'unknown' | 'kept'

interface CoordinationOptions {
  readonly baton: Baton
  readonly reachability: Reachability
  readonly whenUnavailable: ContentWhenUnavailable
  readonly log: (sentence: string) => void
  readonly onUncoordinated: () => void
}

/** How a node asks the others: what is done to a blob is done by one of them, and all hear of it. */
export class Coordination {
  readonly #options: CoordinationOptions

  constructor(options: CoordinationOptions) {
    this.#options = options
  }

  /** Waits for its turn, and fetches; or finds that another has. */
  async pull(request: PullRequest): Promise<Pulled> {
    const { digest } = request
    const { baton, log } = this.#options
    const waiting = new AbortController()
    let isFetching = false
    let isPublished = false
    const unlink = onAbort(request.signal, (reason) => waiting.abort(reason))
    const unwatch = this.#watch(() => isFetching || waiting.abort(away))
    const fetch = async (context: RunContext) => {
      isFetching = true
      unwatch()
      const { previous, fence, attempt } = context
      if (previous)
        log(`pull ${digest}: attempt ${attempt}, after ${previous.node} ${previous.outcome}${why(previous)}`)
      const result = await request.fetch({ fence, previous, progress: (progress) => context.progress(progress) })
      isPublished = true
      return result
    }
    const verify = (when: VerifyWhen) => request.isThere(when)
    try {
      const { status } = await baton.run('pull', digest, fetch, { verify, signal: waiting.signal })
      return status === 'performed' ? 'fetched' : 'found'
    } catch (error) {
      if (waiting.signal.reason === away && !isFetching) return await this.#withoutGrant(request)
      // The grant was lost, or the server went away: what nobody could be told of is told later.
      if (isPublished) return 'unknown'
      throw error
    } finally {
      unlink()
      unwatch()
    }
  }

  /** Tells that this node uses a blob. Throws where that cannot be told now. */
  async add(digest: string): Promise<void> {
    await this.#options.baton.references.add(digest)
  }

  /**
   * Tells that this node does not use a blob any more, and removes it where nobody does. Returns who still uses it.
   */
  async drop(
    digest: string,
    remove: () => Promise<Removal | undefined>,
    signal?: AbortSignal,
  ): Promise<readonly string[]> {
    const { baton, log } = this.#options
    try {
      await baton.run(
        'delete',
        digest,
        async (context) => {
          // Whoever waits for it is going to want it: it finds what is there, and says that it uses it.
          const isWanted = (await context.waiters()).some(({ operation }) => operation !== 'delete')
          const removal = isWanted ? undefined : await remove()
          if (!removal) return context.noEffect()
          for (const sentence of removal.left) log(`not removed: ${sentence}`)
        },
        { signal },
      )
      return []
    } catch (error) {
      if (!(error instanceof RefusedError) || error.code !== 'in-use') throw error
      return baton.references.list(digest)
    }
  }

  async #withoutGrant(request: PullRequest): Promise<Pulled> {
    const { whenUnavailable, onUncoordinated, log } = this.#options
    const { digest } = request
    if (whenUnavailable === 'fail') {
      throw new ContentError('unavailable', `no lock server answers, and ${digest} is not fetched without one`)
    }
    if (await request.keepOwn()) return 'kept'
    log(`no lock server answers: ${digest} is fetched without asking`)
    onUncoordinated()
    await request.fetch({ fence: 0, previous: undefined, progress: () => {} })
    return 'unknown'
  }

  #watch(onAway: () => void): () => void {
    const { whenUnavailable, reachability } = this.#options
    return whenUnavailable === 'wait' ? () => {} : reachability.watch(onAway)
  }
}

const away = new Error('no lock server answers')

function why({ error }: { readonly error: string | undefined }): string {
  return error === undefined || error === '' ? '' : ` (${error})`
}
