import type { Bug } from '../bug.ts'

const SERVICE = 'packages/service/src'
const SERVER = 'packages/server/src'
const CLIENT = 'packages/client/src'

/** The service, the SDK, and the stream between client and server. */
export const connectionBugs: readonly Bug[] = [
  {
    name: 'the sweeper never wakes',
    file: `${SERVICE}/timers/sweeper.ts`,
    find: 'void this.#sweep()',
    replace: 'undefined',
    caughtBy: 'simulator',
  },
  {
    name: 'a resumed stream misses one event',
    file: `${SERVICE}/listening/event-buffer.ts`,
    find: 'number + 1 - this.#first',
    replace: 'number + 2 - this.#first',
    caughtBy: 'simulator',
  },
  {
    name: 'a stream resumes across a gap in the events',
    file: `${SERVICE}/listening/event-buffer.ts`,
    find: 'this.#first = this.#last + 2',
    replace: 'this.#first = this.#last + 1',
    caughtBy: { tests: [`${SERVICE}/listening/event-buffer.test.ts`] },
  },
  {
    name: 'a session is not notified of a hand-over',
    file: `${SERVICE}/listening/fan-out.ts`,
    find: 'return event.handOver',
    replace: 'return false',
    caughtBy: { tests: [`${SERVER}/web-socket/listening.test.ts`] },
  },
  {
    name: 'an event names the sessions of its recipients',
    file: 'packages/core/src/turn.ts',
    find: 'this.events.push({ event, to })',
    replace: 'this.events.push({ event: { ...event, sessions: to.flatMap(({ sessions }) => sessions) }, to })',
    caughtBy: { tests: [`${SERVICE}/listening/fan-out.test.ts`] },
  },
  {
    name: 'the requests of a frame are answered before they are durable',
    file: `${SERVICE}/requests/steps.ts`,
    find: 'if (durable) underWay',
    replace: 'if (false && durable) underWay',
    caughtBy: { tests: [`${SERVER}/web-socket/peer-stream.test.ts`] },
  },
  {
    name: 'a reply gets the wrong number',
    file: `${SERVER}/web-socket/peer-stream.ts`,
    find: 'else steps.push(numbered)',
    replace: 'else steps.push({ ...numbered, number: from + requests.length - 1 - index })',
    caughtBy: 'simulator',
  },
  {
    name: 'the server ignores `keep` of a frame',
    file: `${SERVER}/web-socket/peer-stream.ts`,
    find: '!keep?.includes(number)',
    replace: 'true',
    caughtBy: 'simulator',
  },
  {
    name: 'the server forgets a release before the client acknowledges it',
    file: `${SERVER}/web-socket/peer-stream.ts`,
    find: 'this.#released.add(number, asked)',
    replace: 'this.#options.service.acknowledge(asked.request)',
    caughtBy: 'simulator',
  },
  {
    name: 'a release is acknowledged although its request was sent on two connections',
    file: `${CLIENT}/connection/outbox.ts`,
    find: 'keep.push(from + texts.length)',
    replace: '{}',
    caughtBy: 'simulator',
  },
  {
    name: 'a release is acknowledged although its caller had no answer',
    file: `${CLIENT}/connection/connection.ts`,
    find: "if (call.request.type === 'release') {",
    replace: 'if (false) {',
    caughtBy: { tests: [`${CLIENT}/connection/connection-calls.test.ts`] },
  },
  {
    name: 'a client stays with a server that does not answer',
    file: `${CLIENT}/connection/web-socket-transport.ts`,
    find: 'if (!refusal) this.#moveOn(base, error)',
    replace: '',
    caughtBy: { tests: [`${CLIENT}/connection/web-socket-transport.test.ts`] },
  },
  {
    name: 'a request that is given up is not cancelled',
    file: `${CLIENT}/asks/sent-ask.ts`,
    find: "if (!this.#isOver) cleanUp<'cancel'>(this.#client, this.session, { type: 'cancel', ...this.place, hold: this.hold })",
    replace: '',
    caughtBy: { tests: [`${CLIENT}/asks/ask.test.ts`] },
  },
  {
    name: 'a request is forgotten although the store could not answer it',
    file: `${CLIENT}/connection/sent-holds.ts`,
    find: "if (reply.status === 'refused' && errors[reply.code]?.status >= 500) return",
    replace: '',
    caughtBy: { tests: [`${CLIENT}/connection/sent-holds.test.ts`] },
  },
  {
    name: 'requests on a broken connection are not rejected',
    file: `${CLIENT}/connection/connection.ts`,
    find: 'if (!isGivenUp) onReply(refusal, error)',
    replace: 'if (!isGivenUp && refusal) onReply(refusal, error)',
    caughtBy: 'simulator',
  },
  {
    name: 'subscribers do not learn that their connection was lost',
    file: `${CLIENT}/connection/connection.ts`,
    find: 'for (const { onEnd } of listens) onEnd(',
    replace: 'for (const { onEnd } of []) onEnd(',
    caughtBy: { tests: [`${CLIENT}/connection/connection-calls.test.ts`, '-t', 'those who listen are told'] },
  },
  {
    name: 'the deadline of a client counts from the reply, without a margin',
    file: `${CLIENT}/session/session.ts`,
    find: 'this.#renewedAt = sentAt\n    this.#backoff.reset()',
    replace:
      'this.#renewedAt = { monoMs: this.#now().monoMs + this.ttlMs / 5, wallMs: this.#now().wallMs + this.ttlMs / 5 }\n    this.#backoff.reset()',
    caughtBy: 'simulator',
  },
  {
    name: 'a renewed lease counts from the reply',
    file: `${CLIENT}/session/session.ts`,
    find: 'this.#renewed(sentAt, reply.places)',
    replace: 'this.#renewed(this.#now(), reply.places)',
    caughtBy: { tests: [`${CLIENT}/session/session.test.ts`] },
  },
  {
    name: 'a client does not look for places that it does not know of',
    file: `${CLIENT}/session/unknown-places.ts`,
    find: 'if (places <= this.#known().size)',
    replace: 'if (true)',
    caughtBy: { tests: [`${CLIENT}/session/unknown-places.test.ts`] },
  },
  {
    name: 'a client changes references whatever has happened since',
    file: `${CLIENT}/requests/guarded.ts`,
    find: '      seen,\n',
    replace: '',
    caughtBy: 'simulator',
  },
  {
    name: 'a client forgets whatever is kept when its request arrives',
    file: `${CLIENT}/requests/guarded.ts`,
    find: "{ type: 'forget', ...key, fence }",
    replace: "{ type: 'forget', ...key }",
    caughtBy: 'simulator',
  },
  {
    name: 'a client revokes whoever holds when its request arrives',
    file: `${CLIENT}/requests/guarded.ts`,
    find: "{ type: 'revoke', ...key, fence }",
    replace: "{ type: 'revoke', ...key, fence: named }",
    caughtBy: 'simulator',
  },
]
