import { mkdtempSync, readdirSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClientClock } from '@baton-lock/client/clock'
import { SimulatedClock } from '@baton-lock/store/conformance'
import { clientClockOf } from '@baton-lock/test-support/client-clock'
import { expect, onTestFinished, test, vi } from 'vitest'
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
  const storage = new Storage(systemClientClock(), folder)
  const calls = vi.spyOn(storage, 'call')
  const readers = new Readers({
    clock,
    storage,
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
  const cut = (name: string) => truncateSync(join(folder, name))
  return { readers, time, blobs, isOpen, cut, calls }
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

test('what was read is kept, and the next window is read ahead', async () => {
  const { readers, calls } = world({ a: 3 * MIB })
  await readers.read('a', 0, 10)
  // It opens the file and reads two windows.
  await vi.waitFor(() => expect(calls).toHaveBeenCalledTimes(3))
  for (const offset of [100, 50_000, MIB - 1]) await readers.read('a', offset, 10)
  expect(calls).toHaveBeenCalledTimes(3)
})

test('however large a blob is, three windows of it are in memory', async () => {
  const { readers, cut } = world({ a: 12 * MIB })
  for (let offset = 0; offset < 12 * MIB; offset += MIB) await readers.read('a', offset, 10)
  cut('a')
  for (const window of [9, 10, 11]) expect((await readers.read('a', window * MIB, 10)).byteLength).toBe(10)
  await expect(readers.read('a', 8 * MIB, 10)).rejects.toThrow('before its size')
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
