import { errorBody, type ReplyOf, type RequestType } from '@baton-lock/protocol'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { clientClockOf } from '@baton-lock/test-support/client-clock'
import { outcomeOf } from '@baton-lock/test-support/client-world'
import { expect, test } from 'vitest'
import type { InputOf, Transport } from '../connection/transport.ts'
import { RefusedError, UnavailableError } from '../errors.ts'
import { Interrupt } from './interrupt.ts'
import { Sender, within } from './sender.ts'

const renewal = { type: 'renew-session', session: 's' } as const
const alive = { status: 'alive', ttlMs: 1_000, places: 0 } as const
const gone = new UnavailableError('nobody is there')

/** A sender whose requests get these replies, one after another; then none. */
function newSender(...replies: readonly (object | Error)[]) {
  const time = new SimulatedClock()
  const clock = clientClockOf(time)
  const sent: { readonly request: InputOf<RequestType>; readonly timeoutMs: number }[] = []
  const notices: string[] = []
  const transport: Transport = {
    send(request, timeoutMs, onReply) {
      const reply = replies[sent.length]
      sent.push({ request, timeoutMs })
      if (reply instanceof Error) onReply(undefined, reply)
      else if (reply) onReply(reply as ReplyOf<typeof request.type>)
    },
    listen: () => expect.unreachable(),
    close: async () => {},
  }
  const random = { id: () => 'id', name: () => 'name', fraction: () => 1 }
  const sender = new Sender(transport, { clock, random, notice: (notice) => notices.push(notice) })
  return { sender, clock, time, sent, notices }
}

test('without a time to retry there is one try', async () => {
  const { sender, sent } = newSender(gone, alive)
  expect(await outcomeOf(sender.request(renewal))).toBe(gone)
  expect(sent).toHaveLength(1)
})

test('a request is made anew for every try, after pauses that grow, and each try may take longer', async () => {
  const { sender, clock, time, sent, notices } = newSender(gone, gone, gone, alive)
  let made = 0
  const why: string[] = []
  const request = sender.request(() => ({ ...renewal, session: `s${++made}` }), {
    leftMs: within(clock, 60_000),
    onRetry: ({ message }) => why.push(message),
  })
  for (const pauseMs of [50, 100, 200]) {
    await time.advance(pauseMs - 1)
    const before = sent.length
    await time.advance(1)
    expect(sent.length).toBe(before + 1)
  }
  expect(await request).toEqual(alive)
  expect(sent.map(({ request }) => request)).toMatchObject(['s1', 's2', 's3', 's4'].map((session) => ({ session })))
  expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([2_000, 4_000, 8_000, 10_000])
  expect(why).toEqual(Array(3).fill('nobody is there'))
  expect(notices).toEqual(['nobody is there; trying again', 'Baton answers again'])
})

test('no try outlasts the time that is left, and none follows when it is over', async () => {
  const { sender, clock, time, sent } = newSender(gone)
  const failed = outcomeOf(sender.request(renewal, { leftMs: within(clock, 300) }))
  await time.advance(50)
  expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([300, 250])
  expect(await Promise.race([failed, 'waiting'])).toBe('waiting')
  expect(await outcomeOf(newSender(gone).sender.request(renewal, { leftMs: () => 19 }))).toBe(gone)
})

test('a server that cannot answer is asked again; a refusal is a reply', async () => {
  const refusal = errorBody('forbidden')
  const { sender, clock, time, sent } = newSender(errorBody('store-unavailable'), refusal)
  const request = sender.request(renewal, { leftMs: within(clock, 1_000) })
  await time.advance(50)
  expect(await request).toEqual(refusal)
  expect(sent).toHaveLength(2)
})

test('a source that is not available yet is tried again, and one that fails otherwise is not', async () => {
  const { sender, clock, time } = newSender(alive)
  let tries = 0
  const later = async () => {
    if (++tries === 1) throw gone
    return renewal
  }
  const request = sender.request<'renew-session'>(later, { leftMs: within(clock, 1_000) })
  await time.advance(50)
  expect(await request).toEqual(alive)
  const refused = new RefusedError('forbidden', 'not you')
  const refusing = async (): Promise<typeof renewal> => {
    throw refused
  }
  expect(await outcomeOf(sender.request<'renew-session'>(refusing, { leftMs: () => Infinity }))).toBe(refused)
})

test.each(['before it', 'while it waits for a reply', 'in the pause before another try'])(
  'an interrupt ends a request at once: %s',
  async (when) => {
    const { sender, time, sent } = newSender(...(when.includes('pause') ? [gone] : []))
    const interrupt = new Interrupt()
    const stopped = new Error('stopped')
    if (when === 'before it') interrupt.stop(stopped)
    const failed = outcomeOf(sender.request(renewal, { leftMs: () => Infinity, interrupt }))
    await time.advance(10)
    interrupt.stop(stopped)
    expect(await failed).toBe(stopped)
    await time.advance(10_000)
    expect(sent).toHaveLength(when === 'before it' ? 0 : 1)
  },
)

test('a question is asked for five seconds, and its refusal is thrown', async () => {
  const { sender, time, sent } = newSender(...Array(100).fill(gone))
  const failed = outcomeOf(sender.query({ type: 'get-policy' }))
  await time.advance(4_900)
  expect(await Promise.race([failed, 'waiting'])).toBe('waiting')
  await time.advance(100)
  expect(await failed).toStrictEqual(gone)
  expect(sent.length).toBeGreaterThan(5)
  expect(await outcomeOf(newSender(errorBody('forbidden')).sender.query(renewal))).toBeInstanceOf(RefusedError)
})
