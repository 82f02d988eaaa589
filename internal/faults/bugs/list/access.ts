import type { Bug } from '../bug.ts'

const CORE = 'packages/core/src'
const SERVER = 'packages/server/src'

/** Who may do what: actors, nodes, tokens, classic clients, and what a server accepts at all. */
export const accessBugs: readonly Bug[] = [
  {
    name: 'anybody may release',
    file: `${CORE}/state/actor.ts`,
    find: 'grant && isNamed(turn, grant, name) ? grant : undefined',
    replace: 'grant',
    caughtBy: 'simulator',
  },
  {
    name: 'the node of an actor is ignored',
    file: `${CORE}/state/actor.ts`,
    find: 'name.node === undefined ? mayActFor(facts, actor.node) : name.node === actor.node',
    replace: 'true',
    caughtBy: 'simulator',
  },
  {
    name: 'anybody may act for any node by naming none',
    file: `${CORE}/state/actor.ts`,
    find: 'mayActFor(facts, actor.node)',
    replace: 'true',
    caughtBy: 'simulator',
  },
  {
    name: 'anybody may act for any node by naming it',
    file: `${CORE}/step.ts`,
    find: 'isAllowed(turn, command) ?',
    replace: 'true ?',
    caughtBy: 'simulator',
  },
  {
    name: 'anybody may cancel a request that has not arrived yet',
    file: `${CORE}/commands/cancel.ts`,
    find: '(turn.actsFor ?? [undefined])',
    replace: '[undefined]',
    caughtBy: 'simulator',
  },
  {
    name: 'a classic node is refused what it holds under another type',
    file: `${CORE}/commands/acquire.ts`,
    find: '!command.classic',
    replace: 'true',
    caughtBy: 'simulator',
  },
  {
    name: "a success of a classic client's own type grants the next waiter",
    file: `${CORE}/policy.ts`,
    find: "const unlistedOperation: OperationPolicy = { ...plainOperation, waitersOnSuccess: 'skip' }",
    replace: 'const unlistedOperation: OperationPolicy = plainOperation',
    caughtBy: 'simulator',
  },
  {
    name: 'an observe token may do what a node token may',
    file: `${SERVER}/auth/token-guard.ts`,
    find: '!roles.includes(role)',
    replace: "!roles.includes(role === 'observe' ? 'node' : role)",
    caughtBy: { tests: [`${SERVER}/auth/tokens.test.ts`] },
  },
  {
    name: 'a node token names any node',
    file: `${SERVER}/auth/token-guard.ts`,
    find: ' && !mayActFor(facts, asked.node)',
    replace: ' && false',
    caughtBy: { tests: [`${SERVER}/auth/tokens.test.ts`] },
  },
  {
    name: 'a pattern of a token means every node',
    file: `${CORE}/state/actor.ts`,
    find: 'node.startsWith(prefix)',
    replace: 'true',
    caughtBy: { tests: [`${SERVER}/auth/tokens.test.ts`] },
  },
  {
    name: 'a token takes any pattern, and means something else',
    file: 'packages/protocol/src/token-schema.ts',
    find: '.regex(/^[^*?[\\]{}]*\\*?$/',
    replace: '.regex(/./',
    caughtBy: { tests: ['packages/baton-lock/src/cli/config/serve-config.test.ts'] },
  },
  {
    name: 'a classic client is told to skip only once',
    file: `${CORE}/rules/remembered-asks.ts`,
    find: "isGiven && ask.classic && kept.answer.status === 'skip'",
    replace: 'false',
    caughtBy: { tests: [`${SERVER}/classic/ten-nodes.test.ts`] },
  },
  {
    name: 'a classic client is told to skip for ever',
    file: `${CORE}/rules/remembered-asks.ts`,
    find: '(kept.repeatUntilMs ?? Infinity) <= turn.nowMs',
    replace: 'false',
    caughtBy: { tests: [`${SERVER}/classic/subscribe.test.ts`] },
  },
  {
    name: 'a stream accepts JSON of any depth',
    file: `${SERVER}/web-socket/peer-stream.ts`,
    find: 'checkDepth(input)',
    replace: '',
    caughtBy: { tests: [`${SERVER}/web-socket/web-sockets.test.ts`] },
  },
  {
    name: 'a request accepts any id',
    file: 'packages/protocol/src/id-schema.ts',
    find: "'baton-id', isId",
    replace: "'baton-id', () => true",
    caughtBy: { tests: [`${SERVER}/v1/check.test.ts`] },
  },
]
