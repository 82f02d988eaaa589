import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClientClock } from '../client/clock.ts'
import { SimulatedClock } from '../testing/index.ts'
import { clientClockOf } from '../testing/unit/client-clock.ts'
import { Readers } from './readers.ts'
import { Storage } from './storage.ts'

const MIB = 1024 * 1024

function world(sizes: Record<string, number>) {
  const folder = mkdtempSync(join(tmpdir(), 'baton-readers-'))
  const blobs = new Map(
    Object.entries(sizes).map(([name, size]) => [
      name,
      Buffer.from(Uint8Array.from({ length: size }, (_, at) => at ^ (at >> 8) ^ (at >> 16))),
    ]),
  )
  for (const [name, bytes] of blobs) writeFileSync(join(folder, name), bytes)
  const time = new SimulatedClock()
  const clock = clientClockOf(time)
  const readers = new Readers({
    clock,
    storage: new Storage(systemClientClock(), folder),
    locate: async (name) => ({ path: join(folder, name), size: blobs.get(name)!.length, isOwn: false }),
  })
  onTestFinished(() => {
    readers.close()
    rmSync(folder, { recursive: true })
  })
  const targetOf = (fd: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  }
  const isOpen = (name: string) => readdirSync('/proc/self/fd').some((fd) => targetOf(fd) === join(folder, name))
  return { readers, time, blobs, isOpen }
}

test('a blob is read in pieces, in and out of order, and ends at its end', async () => {
  const { readers, blobs } = world({ a: 3 * MIB + 7 })
  const bytes = blobs.get('a')!
  for (const offset of [0, 32_768, MIB - 10, 3 * MIB, 5, 2 * MIB]) {
    const piece = await readers.read('a', offset, 100)
    expect(piece.byteLength).toBeGreaterThan(0)
    expect(Buffer.from(piece).equals(bytes.subarray(offset, offset + piece.byteLength))).toBe(true)
  }
  expect((await readers.read('a', bytes.length, 10)).byteLength).toBe(0)
  expect(await readers.sizeOf('a')).toBe(bytes.length)
})

test('what is at hand is given without asking the file, and the next window is read ahead', async () => {
  const { readers, blobs } = world({ a: 3 * MIB })
  expect(readers.peek('a', 0, 10)).toBeUndefined()
  await readers.read('a', 0, 10)
  expect(readers.peek('a', 100, 10)).toEqual(blobs.get('a')!.subarray(100, 110))
  await vi.waitFor(() => expect(readers.peek('a', MIB, 10)).toEqual(blobs.get('a')!.subarray(MIB, MIB + 10)))
})

test('however large a blob is, some windows of it are in memory', async () => {
  const { readers } = world({ a: 12 * MIB })
  for (let offset = 0; offset < 12 * MIB; offset += MIB) await readers.read('a', offset, 10)
  const atHand = Array.from({ length: 12 }, (_, window) => readers.peek('a', window * MIB, 1)).filter((piece) => piece)
  expect(atHand.length).toBeLessThanOrEqual(3)
})

test('a file is closed when nobody reads it, when it is forgotten, and when too many are open', async () => {
  const names = Array.from({ length: 20 }, (_, at) => `blob-${at}`)
  const { readers, time, isOpen } = world(Object.fromEntries(names.map((name) => [name, 10])))
  for (const name of names) {
    time.jump(1)
    await readers.read(name, 0, 1)
  }
  await vi.waitFor(() => expect(names.filter(isOpen).length).toBeLessThanOrEqual(16))
  expect(isOpen('blob-19')).toBe(true)
  readers.forget('blob-19')
  await vi.waitFor(() => expect(isOpen('blob-19')).toBe(false))
  await time.advance(11_000)
  await vi.waitFor(() => expect(names.filter(isOpen)).toEqual([]))
  expect((await readers.read('blob-0', 0, 5)).byteLength).toBe(5)
})
