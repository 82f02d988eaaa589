import { connect } from '@baton-lock/client'

/*
 * The victim: an ordinary client that holds a lock all the time, takes and releases others, and contends with itself for one.
 * It says how long each took, and what should not have happened to it. Told to measure by a line on stdin, `measure MS`.
 */
const [url = '', token = ''] = process.argv.slice(2)
/** Between two cycles: it is no load of its own. */
const REST_MS = 5

const options = { ...(token !== '' && { token }), node: 'victim', onNotice: () => {} }
const [one, other] = [await connect(url, options), await connect(url, options)]
const wrong: string[] = []
const held = await one.lock('victim-held')
let inside = 0
let lastFence = 0

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

async function measure(lengthMs: number): Promise<void> {
  const until = performance.now() + lengthMs
  const [cycles, handOvers] = await Promise.all([alone(until), contended(until)])
  if (held.signal.aborted) wrong.push(`the lock that it holds was lost: ${held.signal.reason}`)
  say({ cycles, handOvers, wrong })
}

async function alone(until: number): Promise<number[]> {
  const times: number[] = []
  for (let count = 0; performance.now() < until; count++) {
    const startMs = performance.now()
    const lock = await one.lock(`victim-${count % 16}`)
    await lock.release()
    times.push(performance.now() - startMs)
    await pause(REST_MS)
  }
  return times
}

/** Both want the same lock: each in its turn, never together, and with fences that rise. */
async function contended(until: number): Promise<number[]> {
  const times: number[] = []
  const take = async (client: typeof one) => {
    while (performance.now() < until) {
      const startMs = performance.now()
      await client.lock('victim-shared', async ({ fence }) => {
        if (++inside > 1) wrong.push('two held the same lock')
        if (fence <= lastFence) wrong.push(`fence ${fence} after ${lastFence}`)
        lastFence = fence
        await pause(1)
        inside--
      })
      times.push(performance.now() - startMs)
      await pause(REST_MS)
    }
  }
  await Promise.all([take(one), take(other)])
  return times
}

process.stdin.setEncoding('utf8').on('data', (line: string) => {
  measure(Number(line.split(' ')[1])).catch((error) => {
    wrong.push(String(error))
    say({ cycles: [], handOvers: [], wrong })
  })
})
process.stdin.on('close', () => process.exit(0))
say({ ready: true })
