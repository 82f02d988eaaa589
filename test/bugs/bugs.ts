/*
 * Known bugs that stay reproducible. Each is a change to one built file, made in a copy of dist/ and nowhere else, and each
 * must be caught by the simulator. A bug whose `find` no longer occurs exactly once has to be written anew.
 */
export interface Bug {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
  /** Of a rare one: shortly before the seed that caught it last. */
  readonly nearSeed?: number
}

export const bugs: readonly Bug[] = [
  {
    name: 'the tail is woken instead of the head',
    file: 'core/go-on.js',
    find: 'const own = resource.waiters.head(operation);',
    replace: 'const own = resource.waiters.list(Infinity).filter((each) => each.operation === operation).at(-1);',
  },
  {
    name: 'a release does not look at the fence',
    file: 'core/release.js',
    find: '(fence ?? grant.fence) !== grant.fence ||',
    replace: '',
    nearSeed: 170,
  },
  {
    name: 'anybody may release',
    file: 'core/release.js',
    find: 'grant.owner !== owner ||',
    replace: '',
  },
  {
    name: 'the queue is not emptied at success',
    file: 'core/end.js',
    find: 'tell(turn, waiters, skip);',
    replace: '',
  },
  {
    name: 'a grant is given while another is live',
    file: 'core/acquire.js',
    find: 'if (grant || isPaused(turn, command.operation))',
    replace: "if ((grant && command.operation !== 'update') || isPaused(turn, command.operation))",
  },
  {
    name: 'exclusion of the resource is forgotten',
    file: 'core/in-the-way.js',
    find: "if (own || policy.exclusion === 'operation')",
    replace: 'if (own || policy.exclusion)',
  },
  {
    name: 'a dead holder keeps its grant',
    file: 'core/session-lost.js',
    find: 'loseHolds(turn, { grant, holds: lost, left: type ===',
    replace: 'void ({ grant, holds: lost, left: type ===',
  },
  {
    name: 'an implicit lease never runs out',
    file: 'core/grant.js',
    find: 'command.session === undefined ? { expiresAtMs: turn.nowMs + ttlMs, ttlMs }',
    replace: 'command.session === undefined ? { expiresAtMs: Infinity, ttlMs }',
  },
  {
    name: 'no lease check after waiting: the dead are handed the baton',
    file: 'core/session-lost.js',
    find: 'if (waiter?.lease.session === session)',
    replace: 'if (false)',
  },
  {
    name: 'an unclaimed grant never passes on',
    file: 'core/grant.js',
    find: 'grant.claimByMs = turn.nowMs + turn.policy.claimMs;',
    replace: 'grant.claimByMs = Infinity;',
  },
  {
    name: 'the fence does not rise',
    file: 'core/grant.js',
    find: 'resource.fence = Math.max(resource.fence, fenceFloor) + 1;',
    replace: 'resource.fence = Math.max(resource.fence, fenceFloor, 1);',
  },
  {
    name: 'fences are forgotten at clean-up',
    file: 'stores/shards.js',
    find: 'shard.fenceFloor = Math.max(shard.fenceFloor, resource.fence);',
    replace: '',
  },
  {
    name: 'a renewal revives a session that has ended',
    file: 'stores/sessions.js',
    find: "if (!session)\n            return { status: 'refused', code: 'session-lost' };",
    replace: "if (!session)\n            return { status: 'alive', ttlMs: 1000, places: 0 };",
  },
  {
    name: 'a session forgets its places',
    file: 'stores/sessions.js',
    find: 'session.places.set(name, place);',
    replace: 'void (name, place);',
  },
  {
    name: 'asking again loses the place in line',
    file: 'core/acquire.js',
    find: 'if (present) {',
    replace: 'if (present) resource.waiters.remove(present);\n    if (false) {',
  },
  {
    name: 'a retried ask counts as one more hold',
    file: 'core/grant.js',
    find: 'grant.holds.set(command.hold, leaseOf(turn, command));\n    if (grant.claimByMs',
    replace: 'grant.holds.set(command.hold + grant.holds.size, leaseOf(turn, command));\n    if (grant.claimByMs',
  },
  {
    name: 'a delayed duplicate of an ended ask is granted',
    file: 'core/acquire.js',
    find: 'return hold !== SHARED_HOLD && resource.released.get',
    replace: 'return false && resource.released.get',
  },
  {
    name: 'what a waiter was told is not kept for it',
    file: 'core/go-on.js',
    find: 'resource.answers.set(askName(operation, owner, hold), kept);',
    replace: 'void kept;',
  },
  {
    name: 'a contradicted success stays',
    file: 'core/end.js',
    find: 'for (const contradicted of row.contradicts)',
    replace: 'for (const contradicted of [])',
  },
  {
    name: 'force overrides in-use',
    file: 'core/arbitrate.js',
    find: "if (row.whenReferenced === 'refuse')",
    replace: "if (row.whenReferenced === 'refuse' && ask.disbelieved === undefined)",
  },
  {
    name: 'a skip adds no reference',
    file: 'core/arbitrate.js',
    find: 'if (ask.reference && row.addsReference)',
    replace: 'if (false)',
  },
  {
    name: 'the last reference leaves the kept success behind',
    file: 'core/references.js',
    find: 'if (resource.references.size > 0)\n        return;',
    replace: 'return;',
  },
  {
    name: 'one attempt too many',
    file: 'core/end.js',
    find: 'next.attempt > row.attempts',
    replace: 'next.attempt > row.attempts + 1',
  },
  {
    name: 'a permanent failure is handed on',
    file: 'core/end.js',
    find: 'outcome.permanent === true',
    replace: 'outcome.permanent === null',
  },
  {
    name: 'newcomers pass a queue that waits for its retry delay',
    file: 'core/in-the-way.js',
    find: "policy.exclusion === 'operation' ? resource.pauses.has(operation) : resource.pauses.size > 0",
    replace: 'false',
  },
  {
    name: 'a disbelieved success is believed',
    file: 'core/arbitrate.js',
    find: 'ask.disbelieved === undefined || kept.fence > ask.disbelieved',
    replace: 'true',
  },
  {
    name: 'after a success the own queue goes first, not the longest-waiting head',
    file: 'core/go-on.js',
    find: '(failed && own)',
    replace: 'own',
  },
  {
    name: 'the sweeper sleeps for ever',
    file: 'service/sweeper.js',
    find: 'void this.#sweep()',
    replace: 'undefined',
  },
  {
    name: 'a resumed stream misses one event',
    file: 'service/history.js',
    find: 'this.#events.slice(number + 1 - this.#first)',
    replace: 'this.#events.slice(number + 2 - this.#first)',
  },
  {
    name: "a client's deadline counts from the reply, without a margin",
    file: 'client/session.js',
    find: 'this.#renewedAt = sentAt;\n        this.#backoff.reset();',
    replace:
      'this.#renewedAt = { monoMs: this.#now().monoMs + this.ttlMs / 5, wallMs: this.#now().wallMs + this.ttlMs / 5 };\n        this.#backoff.reset();',
  },
  {
    name: 'a client does not look for places that it does not know of',
    file: 'client/strays.js',
    find: 'if (places <= this.#known().size)',
    replace: 'if (true)',
    nearSeed: 600,
  },
]
