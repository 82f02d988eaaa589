import { storeErrorCode } from '../store.ts'

/**
 * Does the work for each of them, so many at once. One that fails does not keep the others from theirs, unless nobody answers: then the rest is left
 * alone. At the end the first failure is thrown.
 */
export async function eachOf<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = []
  const left = items.values()
  const worker = async () => {
    for (const item of left) {
      await work(item).catch((error) => failures.push(error))
      if (failures.some((error) => storeErrorCode(error) === 'store-unreachable')) return
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  if (failures.length > 0) throw failures[0]
}
