// Whether grants of one key were in the order in which those who got them had queued.

/**
 * Each hold says its `fence`, the `place` that it was told when it queued (0 where it was granted at once), and by the clock that all
 * processes share when it asked (`askedMs`), was told its place or its grant (`answeredMs`), began to release and had released. In
 * a queue that nobody leaves, whoever queued at place 3 has the third grant after the one that was live just then. So the grant
 * that was live when each one queued is known by its number; it never goes back from one grant to the next, and it was live
 * between the ask and its answer. Returns what contradicts that.
 */
export function outOfOrder(holds) {
  const inOrder = holds.toSorted((a, b) => a.fence - b.fence)
  const broken = []
  let before = 0
  for (const [number, hold] of inOrder.entries()) {
    const { fence, place, askedMs, answeredMs } = hold
    const live = number - place
    if (inOrder[number - 1]?.fence === fence) broken.push(`fence ${fence} was granted twice`)
    if (live < before) broken.push(`fence ${fence} came after one that had queued later`)
    before = Math.max(before, live)
    // Granted by the end of the grant before it, or out of nothing.
    const isTooEarly = live > 0 && answeredMs < inOrder[live - 1].releasingMs
    const isTooLate = live < number && askedMs > (inOrder[live]?.releasedMs ?? -Infinity)
    if (live < 0 || isTooEarly || isTooLate) broken.push(`fence ${fence} is not the one that queued at place ${place}`)
  }
  return broken
}
