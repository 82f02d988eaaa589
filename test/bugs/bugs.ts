/*
 * Known bugs that stay reproducible. Each is a change to one built file, made in a copy of dist/ and nowhere else, and each
 * must be caught by the simulator. A bug whose `find` no longer occurs exactly once has to be written anew.
 */
export interface Bug {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
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
  },
  {
    name: 'anybody may release',
    file: 'core/actor.js',
    find: 'return grant && isNamed(turn, grant, name) ? grant : undefined;',
    replace: 'return grant;',
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
    file: 'core/blocking.js',
    find: "if (own || policy.exclusion === 'operation')",
    replace: 'if (own || policy.exclusion)',
  },
  {
    name: 'a dead holder keeps its grant',
    file: 'core/session-lost.js',
    find: 'loseHolds(turn, { grant, holds: grant.holds.ofSession(session), left: type ===',
    replace: 'void ({ grant, holds: grant.holds.ofSession(session), left: type ===',
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
    find: 'if (waiter.lease.session === session && isNamed(turn, waiter, command))',
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
    file: 'stores/resident/shards.js',
    find: 'shard.fenceFloor = Math.max(shard.fenceFloor, resource.fence);',
    replace: '',
  },
  {
    name: 'a renewal revives a session that has ended',
    file: 'stores/resident/sessions.js',
    find: 'if (!session)\n            return SESSION_LOST;',
    replace: "if (!session)\n            return { status: 'alive', ttlMs: 1000, places: 0 };",
  },
  {
    name: 'a session forgets its places',
    file: 'stores/resident/sessions.js',
    find: 'for (const place of gained)\n            this.#placesOf(place)?.add(at, place);',
    replace: '',
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
    find: 'addHold(turn, grant, command.hold, leaseOf(turn, command));\n    if (grant.claimByMs',
    replace: 'addHold(turn, grant, command.hold + grant.holds.size, leaseOf(turn, command));\n    if (grant.claimByMs',
  },
  {
    name: 'a delayed duplicate of an ended ask is granted',
    file: 'core/acquire.js',
    find: 'const ended = endedAnswer(turn, command);',
    replace: 'const ended = undefined;',
  },
  {
    name: 'what a waiter was told is not kept for it',
    file: 'core/memory.js',
    find: "memoriesToWrite(resource, 'answers').set(ask, kept);",
    replace: 'void kept;',
  },
  {
    name: 'a contradicted success stays',
    file: 'core/contradiction.js',
    find: 'for (const operation of row.contradicts)\n        resource.kept.delete(operation);',
    replace: '',
  },
  {
    name: 'force overrides in-use',
    file: 'core/arbitrate.js',
    find: "row.whenReferenced === 'refuse')",
    replace: "row.whenReferenced === 'refuse' && ask.disbelieved === undefined)",
  },
  {
    name: 'a skip adds no reference',
    file: 'core/arbitrate.js',
    find: 'if (isUse(row, ask))\n        reference(turn, ask.node);',
    replace: '',
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
    file: 'core/blocking.js',
    find: "policy.exclusion === 'operation' ? resource.pauses.has(operation) : resource.pauses.size > 0",
    replace: 'false',
  },
  {
    name: 'a disbelieved success is believed',
    file: 'core/arbitrate.js',
    find: 'return disbelieved !== undefined && fence <= disbelieved;',
    replace: 'return false;',
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
    file: 'service/event-buffer.js',
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
    name: 'a delete leaves the references that came in meanwhile',
    file: 'core/end.js',
    find: 'if (row.dropsReferences && turn.edition >= 2)',
    replace: 'if (false)',
  },
  {
    name: 'a skip passes a delete that is running',
    file: 'core/arbitrate.js',
    find: 'if (isInDoubt(turn, ask.operation))',
    replace: 'if (false)',
  },
  {
    name: 'verified passes a delete that is running',
    file: 'core/acquire.js',
    find: 'if (command.verified && !isInDoubt(turn, command.operation)) {',
    replace: 'if (command.verified) {',
  },
  {
    name: 'a skip references one that has not checked yet',
    file: 'core/arbitrate.js',
    find: 'return ask.reference && row.addsReference && !ask.verifies;',
    replace: 'return ask.reference && row.addsReference;',
  },
  {
    name: 'a kept answer outlives a contradiction',
    file: 'core/memory.js',
    find: "return turn.edition >= 2 && kept.answer.status === 'skip' &&",
    replace: 'return false &&',
  },
  {
    name: 'a reference is added beside a delete',
    file: 'core/references.js',
    find: 'if (areReferencesInDoubt(turn))',
    replace: 'if (false)',
  },
  {
    name: 'references vouch for every revision',
    file: 'core/arbitrate.js',
    find: '(revision === undefined || edition < 2)',
    replace: 'true',
  },
  {
    name: 'a full house is told to those who do not wait',
    file: 'core/acquire.js',
    find: 'const queueing = command.queueing',
    replace: "if (!turn.mayQueue) return refused('queue-full');\n    const queueing = command.queueing",
  },
  {
    name: 'a full house takes more waiters',
    file: 'core/acquire.js',
    find: 'if (!turn.mayQueue || resource',
    replace: 'if (resource',
  },
  {
    name: 'an actor is its owner alone',
    file: 'core/actor.js',
    find: 'return name.node === undefined ? mayActFor(facts, actor.node) : name.node === actor.node;',
    replace: 'return true;',
  },
  {
    name: 'everybody may act for every node that is not named',
    file: 'core/actor.js',
    find: 'name.node === undefined ? mayActFor(facts, actor.node)',
    replace: 'name.node === undefined ? true',
  },
  {
    name: 'everybody may act for every node that is named',
    file: 'core/step.js',
    find: 'const reply = isAllowed(turn, command) ?',
    replace: 'const reply = true ?',
  },
  {
    name: 'what has not been asked yet may be taken back by anybody',
    file: 'core/cancel.js',
    find: '(turn.actsFor ?? [undefined])',
    replace: '[undefined]',
  },
  {
    name: 'an answer is given again and again under the shared hold id',
    file: 'core/memory.js',
    find: 'if (!isGiven || (ask.hold === SHARED_HOLD && turn.edition >= 2))',
    replace: 'if (!isGiven)',
  },
  {
    name: 'an answer is given after it was heard',
    file: 'core/heard.js',
    find: 'forgetAnswer(turn, { ...asker, hold: SHARED_HOLD }, fence);',
    replace: 'void (asker, fence);',
  },
  {
    name: 'a delayed duplicate of a skip references the node again',
    file: 'core/acquire.js',
    find: 'if (turn.edition >= 2 && command.hold !== SHARED_HOLD && isUse(row, ask))',
    replace: 'if (false)',
  },
  {
    name: 'a delayed duplicate of a delete drops a reference',
    file: 'core/acquire.js',
    find: 'if (turn.edition < 2)\n        dropReference(turn, command);',
    replace: 'dropReference(turn, command);',
  },
  {
    name: 'a delete that waits drops a reference each time it asks',
    file: 'core/acquire.js',
    find: '(turn.edition >= 2 && isUnderWay(turn, command))',
    replace: 'false',
  },
  {
    name: 'held-by-you leaves the refused ask in line',
    file: 'core/acquire.js',
    find: 'if (waiter?.hold === command.hold)\n        leave(turn, waiter);',
    replace: '',
  },
  {
    name: 'a classic node is refused what it holds under another type',
    file: 'core/acquire.js',
    find: 'if (!command.classic)',
    replace: 'if (true)',
  },
  {
    name: 'a classic type of its own hands over on success',
    file: 'core/policy.js',
    find: "const unlistedOperation = { ...plainOperation, waitersOnSuccess: 'skip' };",
    replace: 'const unlistedOperation = plainOperation;',
  },
  {
    name: 'a kept answer is given while a delete runs',
    file: 'core/memory.js',
    find: "return answer.status === 'skip' && isInDoubt(turn, operation);",
    replace: 'return false;',
  },
  {
    name: 'a release is acknowledged although its ask was sent on two connections',
    file: 'client/stream/outbox.js',
    find: 'keep.push(from + texts.length);',
    replace: '{}',
  },
  {
    name: 'the server does not look at what has to be kept',
    file: 'server/web-socket/connection.js',
    find: '!keep?.includes(number)',
    replace: 'true',
  },
  {
    name: 'the server forgets before the client has said that it knows',
    file: 'server/web-socket/connection.js',
    find: 'this.#released.add(number, asked[index]);',
    replace: 'service.acknowledge(asked[index].request);',
  },
  {
    name: 'requests of a broken connection are not rejected',
    file: 'client/stream/connection.js',
    find: 'if (!isGivenUp)\n                tell(answer, error);',
    replace: 'if (!isGivenUp && answer)\n                tell(answer, error);',
  },
  {
    name: 'a reply goes to the wrong number',
    file: 'server/web-socket/connection.js',
    find: 'numbers.push(from + index);',
    replace: 'numbers.push(from + inputs.length - 1 - index);',
  },
]
