import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test, vi } from 'vitest'
import { WaitingLine, waitingText } from './waiting-line.ts'

function terminal(isTTY: boolean) {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 30 })
  return { stream, text: () => String(stream.read() ?? '') }
}

test('the place and the time are one line', () => {
  expect(waitingText({ what: 'pull x', position: 3, waitedMs: 12_000 })).toBe('waiting 12s, place 3 in line: pull x')
  expect(waitingText({ what: 'pull x', position: 1, waitedMs: 0 })).toBe('waiting, next in line: pull x')
})

test('who holds it, and for how long, is in it', () => {
  const waiting = { what: 'pull x', position: 2, waitedMs: 0, holder: { node: 'node-b', heldMs: 12_000 } }
  expect(waitingText(waiting)).toBe('waiting, place 2 in line: pull x, held by node-b (12s)')
})

test('how far the holder is stands behind it, without what could move the cursor', () => {
  const waiting = { what: 'pull x', position: 2, waitedMs: 0 }
  expect(waitingText({ ...waiting, progress: { percent: 40 } })).toBe(
    'waiting, place 2 in line: pull x ({"percent":40})',
  )
  expect(waitingText({ ...waiting, progress: '4\u001b[2K of 7\n' })).toBe(
    'waiting, place 2 in line: pull x (4 [2K of 7)',
  )
})

test('on a terminal it is shown, cut to its width, and cleared', () => {
  const { stream, text } = terminal(true)
  const line = new WaitingLine(stream, 'pull sha256:0123456789abcdef')
  line.moved(2)
  const shown = text().replace('\r\u001b[2K', '')
  expect(shown).toMatch(/^waiting, place 2 in line/)
  expect(shown.length).toBeLessThan(30)
  line.end()
  expect(text()).toBe('\r\u001b[2K')
})

test('elsewhere it is a line when the waiting begins, and one every minute', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { stream, text } = terminal(false)
  const line = new WaitingLine(stream, 'pull x')
  line.moved(3)
  line.moved(2)
  expect(text()).toBe('baton: waiting, place 3 in line: pull x\n')
  vi.advanceTimersByTime(60_000)
  expect(text()).toBe('baton: waiting 1m, place 2 in line: pull x\n')
  line.end()
  vi.advanceTimersByTime(600_000)
  expect(text()).toBe('')
})
