import { isId, LIMITS } from '@baton-lock/protocol'
import { ArgumentError } from './errors.ts'

/** Returns what the argument must be, in words, if it is not that. */
type Check = (value: unknown) => string | undefined

/** The checks of a call's options, by name. */
type Shape = Readonly<Record<string, Check>>

const when =
  (isGood: (value: unknown) => boolean, must: string): Check =>
  (value) =>
    isGood(value) ? undefined : must

const id = when(
  (value) => typeof value === 'string' && isId(value),
  '1 to 512 bytes of text without control characters',
)
const anyText = when((value) => typeof value === 'string', 'a text')
const text = when((value) => typeof value === 'string' && value !== '', 'a text')
const flag = when((value) => typeof value === 'boolean', 'true or false')
const milliseconds = when((value) => typeof value === 'number' && value >= 0, 'a number of milliseconds, 0 or more')
const callable = when((value) => typeof value === 'function', 'a function')
const signal = when((value) => value instanceof AbortSignal, 'an AbortSignal')
const whole = (min: number, max: number) =>
  when(
    (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
    `a whole number from ${min} to ${max}`,
  )
const oneOf = (...known: readonly string[]) =>
  when((value) => known.includes(value as string), `one of ${known.map((each) => `'${each}'`).join(', ')}`)
const plainObject = when((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'an object')
const owner = when(
  (value) =>
    (typeof value === 'object' && value !== null ? id((value as { owner?: unknown }).owner) : id(value)) === undefined,
  'an open grant, or the owner of one as text',
)

const tracer = when(
  (value) => value === false || typeof (value as { startActiveSpan?: unknown } | null)?.startActiveSpan === 'function',
  'a tracer of OpenTelemetry, or false',
)

/** In days: timers of Node run for 2 ** 31 ms at most. */
const HOLD_MAX_MS = 24 * 86_400_000

const waiting = {
  namespace: id,
  waitMs: milliseconds,
  signal,
  whenUnavailable: oneOf('wait', 'fail', 'run'),
  onQueued: callable,
  onProgress: callable,
  placeEveryMs: milliseconds,
  maxHoldMs: whole(1, HOLD_MAX_MS),
  graceMs: whole(0, HOLD_MAX_MS),
} satisfies Shape

const asking = {
  ...waiting,
  owner,
  queueing: flag,
  revision: id,
  force: flag,
} satisfies Shape

const keepMs = whole(0, LIMITS.keepMaxMs)
const once = { ...asking, keepMs, verify: callable } satisfies Shape
const references = { reference: flag, dropReference: flag } satisfies Shape

function without(shape: Shape, ...names: readonly string[]): Shape {
  return Object.fromEntries(Object.entries(shape).filter(([name]) => !names.includes(name)))
}

const connecting = {
  node: id,
  namespace: id,
  ttlMs: whole(LIMITS.ttlMinMs, LIMITS.ttlMaxMs),
  deadlock: oneOf('notice', 'throw'),
  token: text,
  whenUnavailable: oneOf('wait', 'fail', 'run'),
  tls: plainObject,
  onNotice: callable,
  tracer,
} satisfies Shape

/** The options of each call. */
const shapes = {
  connect: connecting,
  open: { ...connecting, resultLimit: whole(0, LIMITS.resultMaxBytes) },
  acquire: { ...asking, ...references },
  tryAcquire: { ...without(asking, 'waitMs', 'queueing'), ...references },
  run: { ...once, ...references },
  once,
  lock: { ...waiting, owner, queueing: flag },
  tryLock: without({ ...waiting, owner }, 'waitMs', 'onQueued', 'onProgress', 'placeEveryMs'),
  lead: { ...waiting, whenUnavailable: oneOf('wait', 'fail') },
  leader: { namespace: id },
  status: { namespace: id },
  waiters: { namespace: id },
  timeline: { namespace: id },
  overview: { namespace: id },
  list: { namespace: id, prefix: anyText, node: id, active: flag },
  revoke: { namespace: id, fence: whole(0, Number.MAX_SAFE_INTEGER) },
  events: { namespace: id, resource: id, signal },
  references: { namespace: id, node: id },
  forget: { namespace: id, operation: id },
} satisfies Record<string, Shape>

/** Throws for an option that is unknown or invalid, and names it. `undefined` counts as absent. */
export function checkOptions(call: keyof typeof shapes, options: unknown): void {
  checkIs(call, 'options', options, plainObject)
  const shape: Shape = shapes[call]
  for (const name of Object.keys(options as object)) {
    const value = (options as Record<string, unknown>)[name]
    const check = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (!check) throw new ArgumentError(`${call} has no option '${name}'; it takes ${Object.keys(shape).join(', ')}`)
    if (value !== undefined) checkIs(call, `the option ${name}`, value, check)
  }
  const { maxHoldMs, graceMs } = options as { maxHoldMs?: unknown; graceMs?: unknown }
  if (graceMs !== undefined && maxHoldMs === undefined) {
    throw new ArgumentError(`${call}: the option graceMs counts from maxHoldMs, which is not given`)
  }
}

/** Throws for a name that is not an id. */
export function checkIds(call: string, ids: Readonly<Record<string, unknown>>): void {
  for (const name of Object.keys(ids)) checkIs(call, name, ids[name], id)
}

export function checkCallback(call: string, callback: unknown): void {
  checkIs(call, 'the callback', callback, callable)
}

export function checkText(call: string, name: string, value: unknown): void {
  checkIs(call, name, value, text)
}

function checkIs(call: string, name: string, value: unknown, check: Check): void {
  const must = check(value)
  if (must !== undefined) throw new ArgumentError(`${call}: ${name} must be ${must}`)
}
