import { DiskError, SimulatedDisk } from '@baton-lock/faults/simulated-disk'
import { expect, test } from 'vitest'
import { settled } from '../src/conformance/index.ts'
import { type Store, UnknownOutcome } from '../src/store.ts'
import { ask, DIRECTORY, openOn } from './file-world.ts'

/*
 * A killed process leaves to the next one what it has written and not yet synced. The next one reads it, serves it and
 * builds upon it, so it has to be durable by then: the power may go next.
 */

const roomy = { logLimit: 1_000_000 }
const path = (name: string) => `${DIRECTORY}/${name}`

async function held(store: Store): Promise<string[]> {
  const { resources } = await store.list({ limit: 1_000, active: true })
  return resources.map(({ resource }) => resource)
}

/** Asks, several at a time, until the process is killed. */
async function askUntilKilled(store: Store, disk: SimulatedDisk): Promise<void> {
  for (let index = 0; !disk.isOff; index++) {
    void ask(store, 'a', `r${index}`)
    await settled()
  }
}

/** The next process takes one more lock, and then the power goes: both have the same locks. */
async function expectAllThereAfterPowerLoss(killed: SimulatedDisk): Promise<void> {
  const disk = killed.afterKill()
  const next = await openOn(disk, roomy)
  await ask(next, 'a', 'next')
  const served = await held(next)
  expect(served).toContain('next')
  const last = await openOn(disk.afterCrash(), roomy)
  expect(await held(last)).toEqual(served)
  await last.close()
}

test('killed before the name of a new log is durable', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  await ask(store, 'a', 'first')
  disk.fault = (what, at) => {
    if (what === 'sync' && at === DIRECTORY) disk.turnOff()
    return undefined
  }
  await askUntilKilled(store, disk)
  expect(await disk.afterKill().list(DIRECTORY)).toContain('log-1')
  await expectAllThereAfterPowerLoss(disk)
})

test('killed before the last write to a log is synced, when the next log is there already', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk)
  // So slow that something is written to the old log while the new one is made.
  disk.beforeSync = async () => {
    for (let turns = 0; turns < 3; turns++) await settled()
  }
  let isNextThere = false
  disk.fault = (what, at) => {
    if (what === 'create' && at === path('log-1')) isNextThere = true
    if (isNextThere && what === 'sync' && at === path('log-0')) disk.turnOff()
    return undefined
  }
  await askUntilKilled(store, disk)
  await expectAllThereAfterPowerLoss(disk)
})

test('killed after a sync that failed and a write that could not be taken back', async () => {
  const disk = new SimulatedDisk()
  const store = await openOn(disk, roomy)
  await ask(store, 'a', 'first')
  disk.fault = (what, at) => (what !== 'write' && at === path('log-0') ? new DiskError('EIO') : undefined)
  await expect(ask(store, 'a', 'unknown')).rejects.toThrow(UnknownOutcome)
  await expectAllThereAfterPowerLoss(disk)
})
